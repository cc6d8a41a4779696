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
from wm_core.specs import Cell, EpisodeRecord, FailureRecord, Record, RunReport
from wm_core.status import CellStatus
from wm_core.store import RunDirectory

_LINE_EVERY_S = 10.0


def choose_watcher(as_json: bool) -> Watcher:
    """JSON for machines, a live display on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonWatcher()
    return LiveWatcher() if sys.stderr.isatty() else PlainWatcher()


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

    def __init__(self) -> None:
        self.planned = self.recorded = self.fresh = 0
        self.returns: dict[Cell, list[float]] = {}
        self.steps: dict[Cell, int] = {}
        self.phase: dict[Cell, CellStatus] = {}
        self.began = time.monotonic()

    def started(self, run: RunDirectory, recorded: int) -> None:
        self.planned = len(run.spec.cells()) * run.spec.episodes
        self.recorded = recorded
        for cell, episodes in run.episodes().items():
            self.returns[cell] = [record.episode_return for record in episodes.values()]
        self.began = time.monotonic()

    def record(self, record: Record) -> None:
        if isinstance(record, EpisodeRecord):
            self.recorded += 1
            self.fresh += 1
            self.returns.setdefault(record.cell, []).append(record.episode_return)

    def status(self, cell: Cell, status: CellStatus) -> None:
        self.steps[cell] = status.steps
        self.phase[cell] = status

    @property
    def mean(self) -> float | None:
        """Mean return over all episodes so far; None before the first, and with several games."""
        if len({cell.game for cell in self.returns}) > 1:
            return None
        values = [value for returns in self.returns.values() for value in returns]
        return sum(values) / len(values) if values else None

    @property
    def steps_per_second(self) -> float:
        elapsed = time.monotonic() - self.began
        return sum(self.steps.values()) / elapsed if elapsed > 0 else 0.0

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
            for cell, status in self.phase.items()
            if status.phase == "training"
        ]
        return "; ".join(lines)


class LiveWatcher(_Counting):
    """A progress bar on a terminal."""

    def __init__(self) -> None:
        super().__init__()
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
            self.console.print(f"{recorded} of {self.planned} episodes are there from before")
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
        _conclude(report, files)

    def closed(self) -> None:
        self.progress.stop()


class PlainWatcher(_Counting):
    """A line now and then, for log files."""

    def __init__(self) -> None:
        super().__init__()
        self._next = time.monotonic() + _LINE_EVERY_S

    def started(self, run: RunDirectory, recorded: int) -> None:
        super().started(run, recorded)
        cells = len(run.spec.cells())
        click.echo(
            f"{run.spec.agent}: {cells} cells x {run.spec.episodes} episodes, {recorded} there from before",
            err=True,
        )

    def record(self, record: Record) -> None:
        super().record(record)
        self._line()

    def status(self, cell: Cell, status: CellStatus) -> None:
        super().status(cell, status)
        self._line()

    def _line(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            click.echo(f"episodes {self.recorded}/{self.planned}  {self.training() or self.summary()}", err=True)

    def finished(self, report: RunReport, files: Sequence[Path]) -> None:
        _conclude(report, files)


def _conclude(report: RunReport, files: Sequence[Path]) -> None:
    if report.coverage.measured:
        Console().print(render_table(report))
    click.echo(f"results: {files_line(files)}")
    for failure in report.failures:
        click.echo(_failed(failure), err=True)
    if not report.coverage.complete:
        wrong_input = any(failure.exit_code == 2 for failure in report.failures)
        advice = "mend that, and the same command goes on" if wrong_input else "the same command measures the rest"
        click.echo(f"episodes {report.coverage}: {advice}", err=True)


def files_line(files: Sequence[Path]) -> str:
    """`results/x/benchmark_results.{json,csv,md,tex}`."""
    stem = files[0].with_suffix("")
    if stem.is_relative_to(Path.cwd()):
        stem = stem.relative_to(Path.cwd())
    return f"{stem}.{{{','.join(file.suffix[1:] for file in files)}}}"


def _failed(failure: FailureRecord) -> str:
    which = "" if failure.episode is None else f", episode {failure.episode}"
    return f"failed: {failure.cell}{which}: {failure.message}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
