"""What a person, a log file or a machine sees of a run while it runs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from wm_core.reporting.console import render_table
from wm_core.runner import Watcher
from wm_core.specs import Cell, EpisodeRecord, FailureRecord, LearningRecord, Record, RunReport
from wm_core.status import CellStatus
from wm_core.store import RunDirectory

_LINE_EVERY_S = 10.0


def choose_watcher(as_json: bool, *, retry_failed: bool = True) -> Watcher:
    """JSON for machines, a live display on a terminal, plain lines elsewhere.

    `retry_failed` is the runner's: whether the same command tries again what has failed.
    """
    if as_json:
        return JsonWatcher()
    return LiveWatcher(retry_failed) if sys.stderr.isatty() else PlainWatcher(retry_failed)


class JsonWatcher(Watcher):
    """One JSON event a line on what is standard output now, whatever an agent prints later."""

    def __init__(self) -> None:
        self._output = sys.stdout

    def _emit(self, event: str, **fields: Any) -> None:
        click.echo(json.dumps({"event": event, **fields}), file=self._output)

    def started(self, run: RunDirectory, recorded: int) -> None:
        """`started`: the specification, and how much of it is there already."""
        self._emit("started", out_dir=str(run.path), recorded=recorded, spec=run.spec.model_dump(mode="json"))

    def record(self, record: Record) -> None:
        """`episode`, `failure`, `trained`, `session`: the record as it stands in the store."""
        self._emit(record.kind, **record.model_dump(mode="json", exclude={"kind"}))

    def finished(self, report: RunReport, files: Sequence[Path]) -> None:
        """`finished`: the whole report and where it is."""
        self._emit("finished", files=[str(f) for f in files], report=report.model_dump(mode="json"))


class _Counting(Watcher):
    """Keeps the figures that both displays for people show."""

    def __init__(self, retry_failed: bool = True) -> None:
        self.retry_failed = retry_failed
        self.planned = self.recorded = self.fresh = self.all_steps = 0
        self.unit = "episodes"
        self.total: float | None = 0.0
        """Sum of the returns; None where several games make it meaningless."""
        self.steps: dict[Cell, int] = {}
        self.training_now: dict[Cell, CellStatus] = {}
        self.began = time.monotonic()

    def started(self, run: RunDirectory, recorded: int) -> None:
        spec = run.spec
        self.unit = "learning runs" if spec.measures == "learning" else "episodes"
        self.planned = (len(spec.cells()) - len(spec.missing())) * spec.episodes
        self.recorded = recorded
        played = [record.episode_return for cell in run.episodes().values() for record in cell.values()]
        self.total = sum(played) if len(spec.envs) == 1 and spec.measures == "policy" else None
        self.began = time.monotonic()

    def record(self, record: Record) -> None:
        if isinstance(record, EpisodeRecord | LearningRecord):
            self.recorded += 1
            self.fresh += 1
        if isinstance(record, EpisodeRecord) and self.total is not None:
            self.total += record.episode_return

    def status(self, cell: Cell, status: CellStatus) -> None:
        self.all_steps += status.steps - self.steps.get(cell, 0)
        self.steps[cell] = status.steps
        self.training_now.pop(cell, None)
        if status.phase == "training":
            self.training_now[cell] = status

    @property
    def mean(self) -> float | None:
        """Mean return over all episodes so far; None before the first, and with several games."""
        return None if self.total is None or not self.recorded else self.total / self.recorded

    @property
    def steps_per_second(self) -> float:
        elapsed = time.monotonic() - self.began
        return self.all_steps / elapsed if elapsed > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        if not self.fresh:
            return None
        return (time.monotonic() - self.began) / self.fresh * (self.planned - self.recorded)

    def summary(self) -> str:
        mean = "" if self.mean is None else f"mean return {self.mean:.2f}  "
        left = "-" if self.seconds_left is None else _duration(self.seconds_left)
        return f"{mean}{self.steps_per_second:,.0f} steps/s  left {left}"

    def training(self) -> str:
        """The cells that are training now."""
        lines = [
            f"{cell.game} seed {cell.seed}: training {100 * (status.done or 0):.0f}% {status.message}"
            for cell, status in self.training_now.items()
        ]
        return "; ".join(lines)


class LiveWatcher(_Counting):
    """A progress bar on a terminal."""

    def __init__(self, retry_failed: bool = True) -> None:
        super().__init__(retry_failed)
        self.console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[figures]}"),
            console=self.console,
        )
        self.task: TaskID | None = None

    def started(self, run: RunDirectory, recorded: int) -> None:
        super().started(run, recorded)
        if recorded:
            self.console.print(f"{recorded} of {self.planned} {self.unit} are there from before")
        self.task = self.progress.add_task(
            run.spec.agent, total=self.planned, completed=recorded, figures=self.summary()
        )
        self.progress.start()

    def record(self, record: Record) -> None:
        super().record(record)
        if isinstance(record, FailureRecord):
            self.console.print(Text(_failed(record), style="red"))
        self._refresh()

    def status(self, cell: Cell, status: CellStatus) -> None:
        super().status(cell, status)
        self._refresh()

    def _refresh(self) -> None:
        if self.task is not None:
            self.progress.update(self.task, completed=self.recorded, figures=self.training() or self.summary())

    def finished(self, report: RunReport, files: Sequence[Path]) -> None:
        self.closed()
        _conclude(report, files, self.unit, self.retry_failed)

    def closed(self) -> None:
        self.progress.stop()


class PlainWatcher(_Counting):
    """A line now and then, for log files."""

    def __init__(self, retry_failed: bool = True) -> None:
        super().__init__(retry_failed)
        self._next = time.monotonic() + _LINE_EVERY_S

    def started(self, run: RunDirectory, recorded: int) -> None:
        super().started(run, recorded)
        cells = len(run.spec.cells())
        what = f"{cells} cells x {run.spec.episodes} episodes" if self.unit == "episodes" else f"{cells} {self.unit}"
        click.echo(f"{run.spec.agent}: {what}, {recorded} there from before", err=True)

    def record(self, record: Record) -> None:
        super().record(record)
        self._line()

    def status(self, cell: Cell, status: CellStatus) -> None:
        super().status(cell, status)
        self._line()

    def _line(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            click.echo(f"{self.unit} {self.recorded}/{self.planned}  {self.training() or self.summary()}", err=True)

    def finished(self, report: RunReport, files: Sequence[Path]) -> None:
        _conclude(report, files, self.unit, self.retry_failed)


def _conclude(report: RunReport, files: Sequence[Path], unit: str, retry_failed: bool) -> None:
    if report.coverage.measured:
        Console().print(render_table(report))
    click.echo(f"results: {files_line(files)}")
    for failure in report.failures:
        click.echo(_failed(failure), err=True)
    if report.missing:
        click.echo(f"no checkpoint: {cells_line(report.missing, [s.seed for s in report.games[0].seeds])}", err=True)
    if not report.coverage.complete:
        click.echo(f"{unit} {report.coverage}: {_advice(report, retry_failed)}", err=True)


def _advice(report: RunReport, retry_failed: bool) -> str:
    if report.failures and not retry_failed:
        return "--retry-failed tries what has failed again"
    if any(failure.exit_code == 2 for failure in report.failures):
        return "mend that, and the same command goes on"
    if report.missing and not report.failures:
        return "once their checkpoints are there, the same command measures the rest"
    return "the same command measures the rest"


def cells_line(cells: Sequence[Cell], all_seeds: Sequence[int]) -> str:
    """`ALE/Alien-v5, ALE/Pong-v5 (seeds 3, 4)`: seeds are named where they are not all there are."""
    seeds: dict[str, list[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.game, []).append(cell.seed)
    return ", ".join(
        game if len(own) == len(all_seeds) else f"{game} (seed{'s' * (len(own) > 1)} {', '.join(map(str, own))})"
        for game, own in seeds.items()
    )


def files_line(files: Sequence[Path]) -> str:
    """`results/x/benchmark_results.{json,csv,md,tex}`, and so on for each stem."""
    suffixes: dict[Path, list[str]] = {}
    for file in files:
        stem = file.with_suffix("")
        if stem.is_relative_to(Path.cwd()):
            stem = stem.relative_to(Path.cwd())
        suffixes.setdefault(stem, []).append(file.suffix[1:])
    return ", ".join(f"{stem}.{{{','.join(of_stem)}}}" for stem, of_stem in suffixes.items())


def _failed(failure: FailureRecord) -> str:
    which = "" if failure.episode is None else f", episode {failure.episode}"
    return f"failed: {failure.cell}{which}: {failure.message}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
