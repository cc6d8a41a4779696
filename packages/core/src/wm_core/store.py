"""The run directory: a manifest up front, then one line of JSON for everything that happens.

    manifest.json     the resolved RunSpec, its SHA-256, and where the numbers come from
    episodes.jsonl    append-only: sessions, episodes, failures, trained checkpoints
    benchmark_results.*   the report, computed from the two files above and from nothing else

A record is one write of one line under a lock. A process killed in the middle of a write leaves a torn last
line, which readers pass over and the next writer cuts off; so whatever was recorded stays, and nothing else is
ever read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from wm_core.atomic import write_text
from wm_core.errors import DiskError, StoreError
from wm_core.specs import (
    Cell,
    EpisodeRecord,
    FailureRecord,
    Provenance,
    Record,
    RunSpec,
    SessionRecord,
    Spec,
    TrainedRecord,
)

MANIFEST = "manifest.json"
EPISODES = "episodes.jsonl"
OURS = (
    MANIFEST,
    EPISODES,
    "cells",
    "logs",
    "training",
    "videos",
    *(f"benchmark_results.{suffix}" for suffix in ("json", "csv", "md", "tex")),
)
"""What `--overwrite` removes. Nothing else in the directory is touched."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class Manifest(Spec):
    """The first file of a run."""

    format: Literal["wmbench.run/1"] = "wmbench.run/1"
    spec_sha256: str
    spec: RunSpec
    provenance: Provenance


def exclusive(path: Path) -> FileLock:
    """The lock a parent holds for a whole run, from before it reads the manifest; `StoreError` when another has it."""
    lock = FileLock(path / ".lock")
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreError(f"another run is writing to {path}; wait for it, or use another --out-dir") from error
    except OSError as error:
        raise StoreError(f"cannot write to {path}: {_why(error)}; choose another --out-dir") from error
    return lock


class RunDirectory:
    """One agent's run on disk. Open it with `create_or_resume` (the parent) or `attach` (a cell's process)."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self.spec = manifest.spec

    @classmethod
    def create_or_resume(
        cls, path: Path, spec: RunSpec, provenance: Provenance, *, overwrite: bool = False
    ) -> RunDirectory:
        """Begin a run in `path`, or go on with the one that is there if it is the same. Hold `exclusive(path)`.

        Raises `StoreError` when the directory cannot be written or holds another run.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if overwrite:
                _remove(path)
            manifest = _read_manifest(path)
            for name in ("cells", "logs"):
                (path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {path}: {_why(error)}; choose another --out-dir") from error
        if manifest is None:
            if (path / EPISODES).exists():
                raise StoreError(
                    f"{path} has {EPISODES} but no {MANIFEST}; use --overwrite to replace it, or another --out-dir"
                )
            manifest = Manifest(spec_sha256=spec.digest(), spec=spec, provenance=provenance)
            write_text(path / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
        elif manifest.spec_sha256 != spec.digest():
            fields = ", ".join(manifest.spec.differences(spec))
            raise StoreError(
                f"{path} holds another run (it differs in: {fields}); "
                "use another --out-dir, or --overwrite (overwrite=True) to replace it"
            )
        run = cls(path, manifest.model_copy(update={"spec": spec}))
        run.append(SessionRecord(provenance=provenance))
        return run

    @classmethod
    def attach(cls, path: Path) -> RunDirectory:
        """Open a run that exists; `StoreError` when there is none."""
        manifest = _read_manifest(path)
        if manifest is None:
            raise StoreError(f"{path} is not a run directory: it has no {MANIFEST}")
        return cls(path, manifest)

    def append(self, record: Record) -> None:
        """Write one record and push it to the operating system; `DiskError` when the disk refuses it."""
        line = record.model_dump_json().encode() + b"\n"
        try:
            with FileLock(self.path / ".episodes.lock"):
                descriptor = os.open(self.path / EPISODES, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
                try:
                    _cut_torn_line(descriptor)
                    _write_whole(descriptor, line)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise DiskError(
                f"cannot record to {self.path / EPISODES}: {_why(error)}; what was recorded is safe: "
                "free some space and run the same command again"
            ) from error

    def records(self) -> Iterator[Record]:
        """All whole records in the order in which they were written."""
        return parse(self.read_from(0)[0], self.path)

    def read_from(self, offset: int) -> tuple[bytes, int]:
        """Whole lines from byte `offset` on, and the offset after them."""
        try:
            with open(self.path / EPISODES, "rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return b"", offset
        except OSError as error:
            raise StoreError(f"cannot read {self.path / EPISODES}: {_why(error)}; use another --out-dir") from error
        whole = data[: data.rfind(b"\n") + 1]
        return whole, offset + len(whole)

    def episodes(self) -> dict[Cell, dict[int, EpisodeRecord]]:
        """Episodes by cell and number. Where one was recorded twice the first counts."""
        found: dict[Cell, dict[int, EpisodeRecord]] = {cell: {} for cell in self.spec.cells()}
        for record in self.records():
            if isinstance(record, EpisodeRecord):
                if record.cell not in found or record.episode >= self.spec.episodes:
                    raise StoreError(
                        f"{self.path / EPISODES} has episode {record.episode} of {record.cell}, which is not part of "
                        "this run; remove that line"
                    )
                found[record.cell].setdefault(record.episode, record)
        return found

    def failures(self) -> list[FailureRecord]:
        """The last failure of everything that is still not measured, in the order of the cells."""
        episodes = self.episodes()
        last: dict[tuple[Cell, int | None], FailureRecord] = {}
        for record in self.records():
            if isinstance(record, FailureRecord):
                last[record.cell, record.episode] = record
        order = {cell: place for place, cell in enumerate(self.spec.cells())}
        missing = [
            failure
            for (cell, episode), failure in last.items()
            if len(episodes.get(cell, {})) < self.spec.episodes and (episode not in episodes.get(cell, {}))
        ]
        return sorted(missing, key=lambda f: (order.get(f.cell, len(order)), -1 if f.episode is None else f.episode))

    def trained(self, cell: Cell) -> TrainedRecord | None:
        """The record of the cell's finished training."""
        found = [r for r in self.records() if isinstance(r, TrainedRecord) and r.cell == cell]
        return found[-1] if found else None

    def sessions(self) -> list[Provenance]:
        """Every process that took part, in order."""
        return [record.provenance for record in self.records() if isinstance(record, SessionRecord)]


def parse(lines: bytes, path: Path) -> Iterator[Record]:
    """Records of whole lines; `StoreError` on a damaged one (only the last line of a file can be torn)."""
    for number, line in enumerate(lines.splitlines(), start=1):
        try:
            yield _RECORD.validate_json(line)
        except ValidationError as error:
            raise StoreError(
                f"record {number} of {path / EPISODES} is damaged: {line[:80]!r}; mend or remove that line"
            ) from error


def cell_slug(cell: Cell) -> str:
    """A file name for a cell, e.g. 'ALE_Pong-v5.seed0'; no two cells share one."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in cell.game)
    if safe != cell.game.replace("/", "_") or "_" in cell.game:
        safe += f"-{hashlib.sha256(cell.game.encode()).hexdigest()[:8]}"
    return f"{safe}.seed{cell.seed}"


def _read_manifest(path: Path) -> Manifest | None:
    try:
        text = (path / MANIFEST).read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read {path / MANIFEST}: {error}; use another --out-dir") from error
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(
            f"{path / MANIFEST} is damaged or was written by another version of wmbench "
            f"({error.error_count()} problems); use another --out-dir"
        ) from error
    if manifest.spec.digest() != manifest.spec_sha256:
        raise StoreError(f"{path / MANIFEST} was edited: its specification and its SHA-256 disagree; undo that")
    return manifest


def _cut_torn_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    window = 1 << 16
    end = size
    while end > 0:
        start = max(0, end - window)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            os.ftruncate(descriptor, start + newline + 1)
            return
        end = start
    os.ftruncate(descriptor, 0)


def _write_whole(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


def _remove(path: Path) -> None:
    for name in OURS:
        target = path / name
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def missing_episodes(done: Iterable[int], planned: int) -> list[int]:
    """Numbers of the episodes still to play."""
    return sorted(set(range(planned)) - set(done))
