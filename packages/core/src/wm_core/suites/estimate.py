"""What a run will take, from cells that are really run for a few seconds, each in a directory that is thrown away."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from wm_core.executors import start_cell
from wm_core.protocols import CellJob
from wm_core.provenance import collect
from wm_core.specs import Cell, RunSpec, Spec
from wm_core.status import STATUS_SUFFIX, CellStatus, read_status
from wm_core.store import EPISODES, RunDirectory, cell_slug

TRIALS = 3
TRIAL_S = 8.0
_START_S = 120.0
_POLL_S = 0.05


class Trial(Spec):
    """One cell that was run until it ended, or until its time was up."""

    cell: Cell
    seconds: float | None
    """Estimate of the whole cell, start-up included; None where nothing can be said."""
    disk: int | None
    """Estimate of what the whole cell writes, in bytes."""
    seen: str
    """What was measured, in words."""


class Estimate(Spec):
    """Time and disk of what is still to be measured."""

    cells: int
    workers: int
    seconds: float | None
    disk: int | None
    trials: tuple[Trial, ...]


def estimate(spec: RunSpec, cells: Sequence[Cell], *, workers: int) -> Estimate:
    """Run a few of `cells`, spread over the games, for `TRIAL_S` seconds each, and extrapolate to all of them."""
    if not cells:
        return Estimate(cells=0, workers=workers, seconds=0.0, disk=0, trials=())
    trials = tuple(try_cell(spec, cell, seconds=TRIAL_S) for cell in _spread(cells))
    times = [trial.seconds for trial in trials if trial.seconds is not None]
    sizes = [trial.disk for trial in trials if trial.disk is not None]
    together = min(workers, len(cells))
    return Estimate(
        cells=len(cells),
        workers=workers,
        seconds=statistics.fmean(times) * len(cells) / together if times else None,
        disk=round(statistics.fmean(sizes) * len(cells)) if sizes else None,
        trials=trials,
    )


def _spread(cells: Sequence[Cell]) -> list[Cell]:
    """The first cell of the first, the middle and the last game."""
    games = list({cell.game: cell for cell in reversed(cells)}.values())[::-1]
    places = sorted({round(place * (len(games) - 1) / (TRIALS - 1)) for place in range(TRIALS)})
    return [games[place] for place in places]


def try_cell(spec: RunSpec, cell: Cell, *, seconds: float) -> Trial:
    """Run one cell for so many seconds after its start-up, then end it."""
    with tempfile.TemporaryDirectory(prefix="wmbench-estimate-") as directory:
        plain = spec.model_copy(update={"video": False})
        run = RunDirectory.create_or_resume(Path(directory), plain, collect(plain))
        job = CellJob(run_dir=directory, spec=plain, cell=cell)
        log = Path(directory) / "trial.log"
        with log.open("wb") as output:
            process = start_cell(job, output, workers=1)
            try:
                clock = _watch(process, run.path / "cells" / f"{cell_slug(cell)}{STATUS_SUFFIX}", seconds)
            finally:
                process.kill()
                process.wait()
                assert process.stdin is not None
                process.stdin.close()
        return _read(run, cell, clock, whole=process.returncode == 0)


class _Clock:
    """Times of a trial, in seconds since the process was started."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.ready: float | None = None
        """When training or playing began."""
        self.training_ended: float | None = None
        self.ended = 0.0
        self.last: tuple[float, CellStatus] | None = None
        """The last status, and when it was first seen."""

    def now(self) -> float:
        return time.monotonic() - self.began

    def see(self, status: CellStatus | None) -> None:
        if status is None or status.phase == "starting" or (self.last is not None and self.last[1] == status):
            return
        if self.ready is None:
            self.ready = self.now()
        if self.last is not None and self.last[1].phase == "training" and status.phase != "training":
            self.training_ended = self.now()
        self.last = (self.now(), status)


def _watch(process: subprocess.Popen[bytes], status: Path, seconds: float) -> _Clock:
    clock = _Clock()
    while process.poll() is None:
        time.sleep(_POLL_S)
        clock.see(read_status(status))
        if clock.now() > (_START_S if clock.ready is None else clock.ready + seconds):
            break
    clock.see(read_status(status))
    clock.ended = clock.now()
    return clock


def _read(run: RunDirectory, cell: Cell, clock: _Clock, *, whole: bool) -> Trial:
    ledger = run.ledger()
    failures = ledger.failures_of(cell)
    if failures:
        return Trial(cell=cell, seconds=None, disk=None, seen=f"failed: {failures[0].message}")
    written = _size(run.path)
    if whole and ledger.is_done(cell):
        seen = f"measured whole in {clock.ended:.1f} s, {_bytes(written)}"
        return Trial(cell=cell, seconds=clock.ended, disk=written, seen=seen)
    if clock.last is None or clock.ready is None:
        return Trial(cell=cell, seconds=None, disk=None, seen=f"did not start within {clock.ended:.0f} s")
    at, status = clock.last
    if status.phase == "training":
        return _training(run, cell, clock.ready, at, status)
    lengths = [record.length for record in ledger.episodes[cell].values() if record.length is not None]
    return _playing(run, cell, clock, at - (clock.training_ended or clock.ready), status.steps, lengths)


def _training(run: RunDirectory, cell: Cell, ready: float, at: float, status: CellStatus) -> Trial:
    share, spent, written = status.done or 0.0, at - ready, _size(run.path)
    learning = run.spec.measures == "learning"
    what = "of the learning run" if learning else "of the training"
    if share <= 0.0 or spent <= 0.0:
        seen = f"{status.steps} steps {what} in {spent:.1f} s, without a first sign of progress"
        return Trial(cell=cell, seconds=None, disk=None, seen=seen)
    seen = f"{100 * share:.2g}% {what} in {spent:.1f} s ({status.steps} steps, {_bytes(written)} so far)"
    seen += "" if learning else "; the final episodes not counted"
    return Trial(cell=cell, seconds=ready + spent / share, disk=written, seen=seen)


def _playing(run: RunDirectory, cell: Cell, clock: _Clock, spent: float, steps: int, lengths: Sequence[int]) -> Trial:
    planned, rate = run.spec.episodes, steps / spent if spent > 0 else 0.0
    if not steps or rate <= 0.0:
        return Trial(cell=cell, seconds=None, disk=None, seen=f"took no step within {clock.ended:.0f} s")
    if lengths:
        length, which = statistics.fmean(lengths), f"{len(lengths)} episodes of {statistics.fmean(lengths):.0f} steps"
    else:
        length, which = steps / run.spec.num_envs, "no episode ended, so this is a lower bound"
    records = (run.path / EPISODES).stat().st_size
    disk = _size(run.path) - records + round(records / max(1, len(lengths)) * planned)
    before = clock.training_ended or clock.ready or 0.0
    seen = f"played {steps} steps in {spent:.1f} s ({rate:.0f} steps/s, {which})"
    return Trial(cell=cell, seconds=before + planned * length / rate, disk=disk, seen=seen)


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def render(found: Estimate) -> list[str]:
    """The estimate in lines for a person."""
    if not found.cells:
        return ["estimate: everything is measured already"]
    time_needed = "unknown" if found.seconds is None else f"about {_duration(found.seconds)}"
    disk = "unknown" if found.disk is None else f"about {_bytes(found.disk)}"
    workers = f"{found.workers} worker{'s' * (found.workers > 1)}"
    cells = f"{found.cells} cell{'s' * (found.cells > 1)}"
    lines = [f"estimate for {cells} on {workers}: time {time_needed}, disk {disk}; from short runs just now:"]
    return lines + [f"  {trial.cell.game}, seed {trial.cell.seed}: {trial.seen}" for trial in found.trials]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def _bytes(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"
