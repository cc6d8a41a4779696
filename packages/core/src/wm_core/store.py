"""The run directory: a manifest up front, then one line of JSON for everything that happens.

    manifest.json     the resolved RunSpec, its SHA-256, and where the numbers come from
    episodes.jsonl    append-only: sessions, episodes, failures, trained checkpoints, learning runs
    benchmark_results.*   the report, computed from the two files above and from nothing else

A record is one write of one line under a lock. A process killed in the middle of a write leaves a torn last
line, which readers pass over and the next writer cuts off; so whatever was recorded stays, and nothing else is
ever read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from wm_core.atomic import write_text
from wm_core.errors import DiskError, StoreError
from wm_core.ledger import Ledger
from wm_core.specs import (
    Cell,
    EpisodeRecord,
    FailureRecord,
    LearningRecord,
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
    "learning",
    "videos",
    "figures",
    "learning_curves.csv",
    *(
        f"{stem}.{suffix}"
        for stem in ("benchmark_results", "suite", "comparison")
        for suffix in ("json", "csv", "md", "tex")
    ),
)
"""What `--overwrite` removes. Nothing else in the directory is touched."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class Manifest(Spec):
    """The first file of a run."""

    format: Literal["wmbench.run/1"] = "wmbench.run/1"
    spec_sha256: str
    spec: RunSpec
    provenance: Provenance

    def write(self, directory: Path) -> None:
        """Replace the manifest of a run directory."""
        write_text(directory / MANIFEST, self.model_dump_json(indent=2) + "\n")


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
    """One agent's run on disk. Open it with `create_or_resume` (the parent) or `attach` (a cell's process).

    What it says of episodes, failures and training is what the store holds now; each line is parsed once.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self.spec = manifest.spec
        self._ledger: Ledger | None = None
        self._offset = self._lines = 0

    @classmethod
    def create_or_resume(
        cls, path: Path, spec: RunSpec, provenance: Provenance, *, overwrite: bool = False
    ) -> RunDirectory:
        """Begin a run in `path`, or go on with the one that is there if it is the same. Hold `exclusive(path)`.

        A partial run may go on with weights that were missing before. Raises `StoreError` when the directory cannot
        be written or holds another run.
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
            manifest.write(path)
        elif manifest.spec_sha256 != spec.digest() and spec.completes(manifest.spec):
            manifest = Manifest(spec_sha256=spec.digest(), spec=spec, provenance=manifest.provenance)
            manifest.write(path)
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

    def ledger(self) -> Ledger:
        """What the store adds up to now. Only what was written since the last call is read."""
        try:
            if (self.path / EPISODES).stat().st_size < self._offset:
                self._forget()
        except FileNotFoundError:
            self._forget()
        if self._ledger is None:
            self._ledger = Ledger(self.spec)
        data, end = self.read_from(self._offset)
        records = list(parse(data, self.path, first=self._lines + 1))
        for record in records:
            self._ledger.add(record)
        self._offset, self._lines = end, self._lines + len(records)
        return self._ledger

    def episodes(self) -> dict[Cell, dict[int, EpisodeRecord]]:
        """Episodes by cell and number. Where one was recorded twice the first counts."""
        ledger = self.ledger()
        if ledger.stranger is not None:
            raise StoreError(
                f"{self.path / EPISODES} has episode {ledger.stranger.episode} of {ledger.stranger.cell}, which is "
                "not part of this run; remove that line"
            )
        return ledger.episodes

    def episodes_of(self, cell: Cell) -> dict[int, EpisodeRecord]:
        """The episodes of one cell by number; the lines of other games and seeds are not parsed."""
        own: dict[int, EpisodeRecord] = {}
        for record in self._records_of(cell):
            if isinstance(record, EpisodeRecord) and record.episode < self.spec.episodes:
                own.setdefault(record.episode, record)
        return own

    def failures(self) -> list[FailureRecord]:
        """The last failure of everything that is still not measured, in the order of the cells."""
        return self.ledger().failures()

    def trained(self, cell: Cell) -> TrainedRecord | None:
        """The record of the cell's finished training."""
        return self.ledger().trained.get(cell)

    def learned(self, cell: Cell) -> LearningRecord | None:
        """The record of the cell's finished learning run."""
        return self.ledger().learned.get(cell)

    def sessions(self) -> list[Provenance]:
        """Every process that took part, in order."""
        return self.ledger().sessions

    def _records_of(self, cell: Cell) -> Iterator[Record]:
        game = cell.model_dump_json(include={"game"})[len('{"game":') : -1].encode()
        data = self.read_from(0)[0]
        lines: dict[int, bytes] = {}
        for match in re.finditer(rb'"seed"\s*:\s*%d\b' % cell.seed, data):
            begin = data.rfind(b"\n", 0, match.start()) + 1
            lines[begin] = data[begin : data.index(b"\n", match.end()) + 1]
        found = b"".join(line for line in lines.values() if game in line)
        return (record for record in parse(found, self.path) if getattr(record, "cell", None) == cell)

    def _forget(self) -> None:
        self._ledger = None
        self._offset = self._lines = 0


def parse(lines: bytes, path: Path, *, first: int = 1) -> Iterator[Record]:
    """Records of whole lines; `StoreError` on a damaged one (only the last line of a file can be torn).

    `first` is the number of the first line, for the message.
    """
    for number, line in enumerate(lines.splitlines(), start=first):
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
