"""How far the training is, as numbers, as one line, and as a live display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from wm_core.protocols import TrainProgress


@dataclass(frozen=True)
class TrainingProgress:
    """Where the training stands."""

    done: float
    """Share of the whole schedule's time, 0 to 1."""
    seconds_left: float
    all_measured: bool
    """False while the time left rests on a guess for a part that has not started."""
    epoch: int
    epochs: int
    part: str
    """The component or periodic part at work."""
    step: int
    steps: int
    """Of the part in this epoch."""
    env_steps: int
    """Environment steps so far."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Means of the last whole epoch."""

    def time_left(self) -> str:
        """Time left in words, '?' while nothing is known, with '~' while it rests on a guess."""
        if self.seconds_left == 0 and self.done < 1:
            return "?"
        hours, minutes = divmod(round(self.seconds_left / 60), 60)
        text = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
        if self.seconds_left < 90:
            text = f"{self.seconds_left:.0f} s"
        return text if self.all_measured else f"~{text}"

    def line(self) -> str:
        """One line: epoch, part, time left."""
        part = f"{self.part} {self.step}/{self.steps}"
        return f"epoch {self.epoch}/{self.epochs}  {part}  {self.time_left()} left"

    def for_core(self) -> TrainProgress:
        """What wm-core's `TrainRequest.on_progress` takes."""
        return TrainProgress(done=self.done, steps=self.env_steps, message=self.line(), metrics=dict(self.metrics))


class ProgressDisplay:
    """A live display on standard error: the schedule, the part at work, the last epoch's metrics.

    A context manager to pass as `on_progress`. Where standard error is no terminal, it prints one line an
    epoch instead.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>5.1f}%"),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._whole = self._bars.add_task(title, total=1.0, note="")
        self._part = self._bars.add_task("", total=1.0, note="")
        self._live = Live(self._bars, console=self._console, refresh_per_second=4)
        self._epoch = 0

    def __enter__(self) -> ProgressDisplay:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live.is_started:
            self._live.stop()

    def __call__(self, progress: TrainingProgress) -> None:
        """Show it."""
        if not self._console.is_terminal:
            if progress.epoch != self._epoch:
                self._console.print(f"{100 * progress.done:5.1f}%  {progress.line()}", highlight=False)
                self._epoch = progress.epoch
            return
        note = f"epoch {progress.epoch}/{progress.epochs}  {progress.env_steps} env steps"
        self._bars.update(self._whole, completed=progress.done, note=f"{note}  {progress.time_left()} left, elapsed")
        self._bars.update(
            self._part,
            description=progress.part,
            completed=progress.step,
            total=max(progress.steps, 1),
            note=f"{progress.step}/{progress.steps}",
        )
        self._live.update(Group(self._bars, _metrics_table(progress.metrics)))


def _metrics_table(metrics: Mapping[str, float]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in metrics.items():
        table.add_row(name, f"{value:.4g}")
    return table
