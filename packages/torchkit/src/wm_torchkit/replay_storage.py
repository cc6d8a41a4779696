"""Where the rows of a replay lie: in memory or in files.

A row is one observation and what led to it. Row `r` of lane `l` has the id `r * lanes + l`; ids are never
used twice. Rows do not change once they are written, and the files are only appended to, so whatever a
checkpoint counts stays as it was however many rows are written after it.

Files: `DIRECTORY/replay.json` (fields, lanes, rows a file) and `DIRECTORY/lane-0/rows-000000000000.bin`, each
holding `rows_per_file` records of the row's dtype, named after the first row in it.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wm_core.errors import CheckpointError, UsageError
from wm_torchkit.atomic_files import sync_directory, write_atomically

FILE_BYTES = 64 * 2**20
"""Files hold about this many bytes of rows."""

Rows = dict[str, NDArray[Any]]
"""Values of each field, first axis over rows."""


def row_dtype(
    frame_shape: tuple[int, ...] | None, action_dim: int | None, vector_dim: int | None = None
) -> np.dtype[np.void]:
    """The record of one row; `action_dim` None stands for a discrete action, the others for what is not stored."""
    action = ("action", "<i8") if action_dim is None else ("action", "<f4", (action_dim,))
    return np.dtype(
        [
            *([] if frame_shape is None else [("frame", "u1", frame_shape)]),
            *([] if vector_dim is None else [("vector", "<f4", (vector_dim,))]),
            action,
            ("reward", "<f4"),
            ("terminated", "?"),
            ("truncated", "?"),
            ("is_first", "?"),
        ]
    )


class RowStore(Protocol):
    """Rows by id."""

    def write(self, row_id: int, row: dict[str, Any]) -> None:
        """Store a new row."""

    def read(self, ids: NDArray[np.int64]) -> Rows:
        """Rows of those ids, shape `(len(ids), ...)` a field; zeros where an id is negative."""


class MemoryRows:
    """The live rows in one preallocated ring: row `id` lies in slot `id % capacity`."""

    def __init__(self, dtype: np.dtype[np.void], capacity: int) -> None:
        self._capacity = capacity
        try:
            self._fields: Rows = {
                name: np.zeros((capacity, *dtype[name].shape), dtype[name].base) for name in dtype.names or ()
            }
        except MemoryError as error:
            raise UsageError(
                f"a replay of {capacity} steps needs {human_size(capacity * dtype.itemsize)} of memory, more "
                "than there is; lower the capacity, or keep it in files (mapped=True)"
            ) from error

    def write(self, row_id: int, row: dict[str, Any]) -> None:
        """Store a new row in its slot."""
        slot = row_id % self._capacity
        for name, values in self._fields.items():
            values[slot] = row[name]

    def read(self, ids: NDArray[np.int64]) -> Rows:
        """Rows of those ids; zeros where an id is negative."""
        padded = np.flatnonzero(ids < 0)
        slots = ids % self._capacity
        rows = {name: np.take(values, slots, axis=0, mode="clip") for name, values in self._fields.items()}
        for values in rows.values():
            values[padded] = 0
        return rows

    def records(self, ids: NDArray[np.int64], dtype: np.dtype[np.void]) -> NDArray[np.void]:
        """Rows of those ids as they stand in files."""
        records = np.empty(len(ids), dtype)
        for name, values in self._fields.items():
            records[name] = values[ids % self._capacity]
        return records

    def fill(self, ids: NDArray[np.int64], records: NDArray[np.void]) -> None:
        """Store rows as they stand in files."""
        for name, values in self._fields.items():
            values[ids % self._capacity] = records[name]


class RowFiles:
    """Rows in append-only files of fixed length, one series a lane; a `RowStore` by memory maps."""

    def __init__(self, directory: Path, dtype: np.dtype[np.void], lanes: int) -> None:
        self.directory = directory
        self._dtype = dtype
        self._lanes = lanes
        self._maps: dict[tuple[int, int], NDArray[np.void]] = {}
        described = {"format": "wmbench.replay/1", "fields": _described(dtype), "lanes": lanes}
        header = self._read_header()
        if header is None:
            rows_per_file = max(1, FILE_BYTES // dtype.itemsize)
            header = {**described, "rows_per_file": rows_per_file, "uid": uuid.uuid4().hex}
            write_atomically(directory / "replay.json", json.dumps(header, indent=1).encode())
        for key, value in described.items():
            if header.get(key) != value:
                raise UsageError(
                    f"{directory} holds another replay: its {key} are {header.get(key)}, this one's {value}; "
                    "give this one another directory, or delete that one"
                )
        self.uid: str = header["uid"]
        self._rows_per_file: int = header["rows_per_file"]

    def write(self, row_id: int, row: dict[str, Any]) -> None:
        """Store a new row."""
        index, lane = divmod(row_id, self._lanes)
        record = self._map(lane, index // self._rows_per_file)[index % self._rows_per_file]
        for name, value in row.items():
            record[name] = value

    def read(self, ids: NDArray[np.int64]) -> Rows:
        """Rows of those ids; zeros where an id is negative."""
        names = self._dtype.names or ()
        fields: Rows = {n: np.zeros((len(ids), *self._dtype[n].shape), self._dtype[n].base) for n in names}
        index, lane = np.divmod(ids, self._lanes)
        file, offset = np.divmod(index, self._rows_per_file)
        place = np.where(ids < 0, -1, file * self._lanes + lane)
        for key in np.unique(place[place >= 0]):
            chosen = np.flatnonzero(place == key)
            records = self._map(int(key) % self._lanes, int(key) // self._lanes)
            for name in names:
                fields[name][chosen] = records[name][offset[chosen]]
        return fields

    def append(self, lane: int, first: int, records: NDArray[np.void]) -> None:
        """Write rows `first ..` of a lane, all in one file, durably. No checkpoint may count them yet."""
        file, offset = divmod(first, self._rows_per_file)
        path = self._path(lane, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as stream:
            stream.seek(offset * self._dtype.itemsize)
            stream.write(records.tobytes())
            stream.flush()
            os.fsync(stream.fileno())
        sync_directory(path.parent)

    def spans(self, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """Rows `first .. stop-1` cut where files end, as pairs of first row and stop."""
        while first < stop:
            end = min(stop, (first // self._rows_per_file + 1) * self._rows_per_file)
            yield first, end
            first = end

    def records(self, lane: int, first: int, stop: int) -> NDArray[np.void]:
        """Rows `first .. stop-1` of a lane, all in one file; `CheckpointError` when some are missing."""
        self.check(lane, first, stop)
        file, offset = divmod(first, self._rows_per_file)
        start = offset * self._dtype.itemsize
        return np.fromfile(self._path(lane, file), self._dtype, count=stop - first, offset=start)

    def check(self, lane: int, first: int, stop: int) -> None:
        """`CheckpointError` when rows `first .. stop-1` of a lane are not all there. Reads none of them."""
        for start, end in self.spans(first, stop):
            file = start // self._rows_per_file
            path = self._path(lane, file)
            needed = (end - file * self._rows_per_file) * self._dtype.itemsize
            there = path.stat().st_size if path.exists() else 0
            if there < needed:
                raise CheckpointError(f"the replay file {path} has {there} bytes of {needed}; it was cut or removed")

    def flush(self) -> None:
        """Make everything written through the maps durable."""
        for values in self._maps.values():
            if isinstance(values, np.memmap):
                values.flush()

    def delete_before(self, lane: int, row: int) -> None:
        """Delete the files of a lane that hold only rows before `row`."""
        for path in sorted((self.directory / f"lane-{lane}").glob("rows-*.bin")):
            first = int(path.stem.removeprefix("rows-"))
            if first + self._rows_per_file > row:
                return
            self._maps.pop((lane, first // self._rows_per_file), None)
            path.unlink()

    def _map(self, lane: int, file: int) -> NDArray[np.void]:
        key = (lane, file)
        if key not in self._maps:
            path = self._path(lane, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "w+b") as stream:
                stream.truncate(self._rows_per_file * self._dtype.itemsize)
            sync_directory(path.parent)
            self._maps[key] = np.memmap(path, self._dtype, mode="r+", shape=(self._rows_per_file,))
        return self._maps[key]

    def _path(self, lane: int, file: int) -> Path:
        return self.directory / f"lane-{lane}" / f"rows-{file * self._rows_per_file:012d}.bin"

    def _read_header(self) -> dict[str, Any] | None:
        path = self.directory / "replay.json"
        if not path.exists():
            return None
        try:
            header: dict[str, Any] = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            raise CheckpointError(f"{path} is not JSON ({error}); delete {self.directory} to start anew") from error
        return header


def _described(dtype: np.dtype[np.void]) -> dict[str, Any]:
    return {name: [dtype[name].base.str, list(dtype[name].shape)] for name in dtype.names or ()}


def human_size(size: float) -> str:
    """Bytes with a unit of powers of 1024."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
