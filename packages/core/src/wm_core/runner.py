"""`BenchmarkRunner`: a request becomes cells, cells go to an executor, the store becomes the report."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wm_core import registry
from wm_core.errors import UsageError
from wm_core.executors import WORKER
from wm_core.hooks import Hooks
from wm_core.plan import Request, plan, train_budget
from wm_core.protocols import CellJob, CellOutcome, Executor
from wm_core.provenance import collect
from wm_core.reporting import write_report
from wm_core.results import build_report
from wm_core.specs import Cell, EpisodeRecord, FailureRecord, LearningRecord, Record, RunReport, RunSpec
from wm_core.status import STATUS_SUFFIX, CellStatus, read_status
from wm_core.store import RunDirectory, cell_slug, exclusive, parse

_POLL_S = 0.2
_log = logging.getLogger("wmbench")


class Watcher:
    """Hears of a run while it runs. Override what you need; all calls come from one thread."""

    def started(self, run: RunDirectory, recorded: int) -> None:
        """The run begins; `recorded` episodes, or learning runs, are there from before."""

    def record(self, record: Record) -> None:
        """Something was recorded."""

    def status(self, cell: Cell, status: CellStatus) -> None:
        """What a cell is doing."""

    def finished(self, report: RunReport, files: Sequence[Path]) -> None:
        """The report is written."""

    def closed(self) -> None:
        """Nothing more will come, whether the run finished or not."""


class BenchmarkRunner:
    """Measures one agent.

    >>> report = BenchmarkRunner(agent="random", out_dir="results/random").run(
    ...     env_spec={"game": "wm/Catch-v0"}, seeds=[0, 1], num_episodes=5)
    """

    def __init__(
        self,
        adapter_cls: type | None = None,
        *,
        agent: str | None = None,
        out_dir: str | Path,
        workers: int = 1,
        executor: str | None = None,
        overwrite: bool = False,
        retry_failed: bool = True,
        watcher: Watcher | None = None,
    ) -> None:
        """`retry_failed=False` leaves alone what has failed before, and measures only what was never tried."""
        if (adapter_cls is None) == (agent is None):
            raise UsageError("BenchmarkRunner takes either adapter_cls=... or agent='name'")
        if adapter_cls is not None and not isinstance(adapter_cls, type):
            raise UsageError(f"adapter_cls is {adapter_cls!r}; expected a class")
        if not isinstance(workers, int) or workers < 1:
            raise UsageError(f"{workers} workers were asked for; --workers must be 1 or more")
        self.adapter_cls, self.agent = adapter_cls, agent
        self.out_dir = Path(out_dir).expanduser().absolute()
        self.workers, self.overwrite, self.retry_failed = workers, overwrite, retry_failed
        self.executor = executor or ("serial" if workers == 1 else "process")
        registry.find("executors", self.executor)
        self.watcher = watcher or Watcher()

    def run(
        self,
        env_spec: Mapping[str, Any] | str | Sequence[str],
        seeds: Sequence[int] = (0,),
        num_episodes: int = 100,
        *,
        checkpoint: str | Path | None = None,
        preset: str | None = None,
        train_epochs: int | None = None,
        train_steps: int | None = None,
        untrained: bool = False,
        device: str | None = None,
        num_envs: int = 8,
    ) -> RunReport:
        """Measure `num_episodes` a seed and write the report files into `out_dir`.

        `env_spec` is a game id, several of them, or a mapping with `game` (one id or several) and any of `backend`,
        `protocol` and EnvSpec's fields. What fails is in the report's `failures` and `coverage`, and in the log.
        Called again with the same arguments it goes on where it was stopped.
        """
        fields: dict[str, Any] = dict(env_spec) if isinstance(env_spec, Mapping) else {"game": env_spec}
        games = fields.pop("game", None)
        if isinstance(games, str):
            games = [games]
        if not isinstance(games, Sequence) or not games or not all(isinstance(game, str) for game in games):
            raise UsageError(f"env_spec names the game {games!r}; expected e.g. {{'game': 'ALE/Pong-v5'}}")
        train = None
        if train_epochs is not None or train_steps is not None:
            train = train_budget(train_epochs, train_steps)
        return self.execute(
            plan(
                Request(
                    agent=self.agent,
                    adapter_cls=self.adapter_cls,
                    games=games,
                    env_backend=fields.pop("backend", None),
                    protocol=fields.pop("protocol", None),
                    env_overrides=fields,
                    checkpoint=checkpoint,
                    seeds=seeds,
                    episodes=num_episodes,
                    preset=preset,
                    train=train,
                    untrained=untrained,
                    device=device,
                    num_envs=num_envs,
                )
            )
        )

    def execute(self, spec: RunSpec) -> RunReport:
        """Run a planned specification to its report. Ctrl-C leaves a report of what was measured, and is raised."""
        if os.environ.get(WORKER):
            raise UsageError(
                "a worker has run the script that started it; put what starts the benchmark under "
                "`if __name__ == '__main__':`"
            )
        if self.executor != "serial" and "<locals>" in spec.adapter:
            raise UsageError(
                f"{spec.adapter} is defined inside a function, where a worker cannot find it; "
                "move it to a module, or use workers=1"
            )
        with exclusive(self.out_dir):
            run = RunDirectory.create_or_resume(self.out_dir, spec, collect(spec), overwrite=self.overwrite)
            hooks = Hooks()
            hooks.call("wm_run_started", run=spec, directory=run.path)
            feed = _Feed(run, hooks, self.watcher)
            try:
                with feed:
                    self._run_cells(run, hooks)
                report = self._conclude(run, hooks)
                feed.check()
                return report
            except KeyboardInterrupt:
                self._conclude(run, hooks)
                raise
            finally:
                self.watcher.closed()

    def _conclude(self, run: RunDirectory, hooks: Hooks) -> RunReport:
        report = build_report(run)
        files = write_report(report, run.path)
        for failure in report.failures:
            _log.info("failed: %s: %s", failure.cell, failure.message)
        self.watcher.finished(report, files)
        hooks.call("wm_run_finished", report=report, directory=run.path)
        return report

    def _run_cells(self, run: RunDirectory, hooks: Hooks) -> None:
        run.episodes()  # a store with strangers in it is refused before anything is measured
        ledger, absent = run.ledger(), set(run.spec.missing())
        jobs = [
            CellJob(run_dir=str(run.path.absolute()), spec=run.spec.of_cell(cell), cell=cell)
            for cell in run.spec.cells()
            if cell not in absent and not ledger.is_done(cell) and (self.retry_failed or not ledger.failures_of(cell))
        ]
        if not jobs:
            return
        executor: Executor = registry.load("executors", self.executor)(workers=self.workers)
        for outcome in executor.map(jobs):
            _record_silent_death(run, outcome)
            hooks.call("wm_cell_finished", cell=outcome.cell, failures=run.ledger().failures_of(outcome.cell))


def exit_code(report: RunReport) -> int:
    """0: all measured. 2: nothing was, and every failure was a wrong input. 1: otherwise."""
    if report.coverage.complete:
        return 0
    inputs = bool(report.failures) and all(failure.exit_code == 2 for failure in report.failures)
    return 2 if inputs and report.coverage.measured == 0 else 1


def _record_silent_death(run: RunDirectory, outcome: CellOutcome) -> None:
    """A worker that ended without a word (killed, out of memory, `os._exit`) gets its failure written for it."""
    ledger = run.ledger()
    if ledger.is_done(outcome.cell) or ledger.failures_of(outcome.cell):
        return
    how = f"signal {-outcome.exit_code}" if outcome.exit_code < 0 else f"exit code {outcome.exit_code}"
    tail = outcome.stderr_tail.strip().splitlines()
    message = f"the worker ended by {how}" + (f": {tail[-1]}" if tail else "")
    run.append(FailureRecord(cell=outcome.cell, error="WorkerDied", message=message))


class _Feed:
    """Reads the store while cells run and passes on what is new, so that all executors look alike."""

    def __init__(self, run: RunDirectory, hooks: Hooks, watcher: Watcher) -> None:
        self.run, self.hooks, self.watcher = run, hooks, watcher
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="wmbench-feed", daemon=True)
        self._offset = 0
        self._cells = {f"{cell_slug(cell)}{STATUS_SUFFIX}": cell for cell in run.spec.cells()}
        self._seen: dict[str, int] = {}
        """When each status file was last written, in ns."""
        self._error: Exception | None = None

    def __enter__(self) -> None:
        for name in self._status_files():
            (self.run.path / "cells" / name).unlink(missing_ok=True)
        data, self._offset = self.run.read_from(0)
        recorded = sum(isinstance(record, EpisodeRecord | LearningRecord) for record in parse(data, self.run.path))
        self.watcher.started(self.run, recorded)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stop.set()
        self._thread.join()
        self._poll_guarded()

    def check(self) -> None:
        """Raise what went wrong while watching, such as a closed standard output. It costs no measurement."""
        if self._error is not None:
            raise self._error

    def _loop(self) -> None:
        while not self._stop.wait(_POLL_S):
            self._poll_guarded()

    def _poll_guarded(self) -> None:
        if self._error is not None:
            return
        try:
            self._poll()
        except Exception as error:  # noqa: BLE001 - raised again by `check`, once everything is measured
            self._error = error

    def _poll(self) -> None:
        for name, written in self._status_files().items():
            if self._seen.get(name) == written:
                continue
            status = read_status(self.run.path / "cells" / name)
            if status is None:
                continue
            if name not in self._seen:
                self.hooks.call("wm_cell_started", cell=self._cells[name])
            self._seen[name] = written
            self.watcher.status(self._cells[name], status)
        data, self._offset = self.run.read_from(self._offset)
        for record in parse(data, self.run.path):
            self.watcher.record(record)
            if isinstance(record, EpisodeRecord):
                self.hooks.call("wm_episode_finished", record=record)

    def _status_files(self) -> dict[str, int]:
        """The cells' status files, and when each was written (ns)."""
        with os.scandir(self.run.path / "cells") as entries:
            found = [entry for entry in entries if entry.name in self._cells]
        return {entry.name: written for entry in found if (written := _written_ns(entry)) is not None}


def _written_ns(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat().st_mtime_ns
    except FileNotFoundError:
        return None
