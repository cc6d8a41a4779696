"""What cuts across: hooks that listen, and executors that are somebody's plugin."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wm_core import BenchmarkRunner, registry
from wm_core.hooks import hookimpl
from wm_core.protocols import CellJob, CellOutcome


@pytest.fixture
def listening() -> Iterator[list[str]]:
    """A hook plugin that writes down what it hears."""
    heard: list[str] = []

    class Listener:
        @hookimpl
        def wm_run_started(self, run: Any, directory: Path) -> None:
            heard.append(f"run {run.agent}")

        @hookimpl
        def wm_cell_started(self, cell: Any) -> None:
            heard.append(f"cell {cell.seed}")

        @hookimpl
        def wm_episode_finished(self, record: Any) -> None:
            heard.append(f"episode {record.cell.seed}.{record.episode}")

        @hookimpl
        def wm_cell_finished(self, cell: Any, failures: Any) -> None:
            heard.append(f"cell {cell.seed} done, {len(failures)} failures")

        @hookimpl
        def wm_run_finished(self, report: Any, directory: Path) -> None:
            heard.append(f"report {report.coverage} {(directory / 'benchmark_results.json').exists()}")

    registry.register(Listener(), "hooks", name="listener")
    yield heard
    registry.unregister("listener", "hooks")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_hook_plugin_hears_of_everything(tmp_path: Path, listening: list[str], workers: int) -> None:
    BenchmarkRunner(agent="random", out_dir=tmp_path, workers=workers).run("wm/Catch-v0", [0, 1], 2)
    assert listening[0] == "run random"
    assert listening[-1] == "report 4/4 True"
    assert sorted(line for line in listening if line.startswith("episode")) == [
        f"episode {seed}.{number}" for seed in (0, 1) for number in (0, 1)
    ]
    assert sorted(line for line in listening if line.startswith("cell")) == [
        line for seed in (0, 1) for line in (f"cell {seed}", f"cell {seed} done, 0 failures")
    ]


def test_a_hook_plugin_that_fails_costs_no_measurement(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        @hookimpl
        def wm_episode_finished(self, record: Any) -> None:
            raise RuntimeError("no")

    registry.register(Broken(), "hooks", name="broken-hook")
    try:
        report = BenchmarkRunner(agent="random", out_dir=tmp_path).run("wm/Catch-v0", [0], 2)
    finally:
        registry.unregister("broken-hook", "hooks")
    assert report.coverage.complete
    assert "hook plugin 'broken-hook' failed in wm_episode_finished: no" in caplog.text


class Cluster:
    """A stranger's executor: writes each cell to a file and runs the command on it, as a cluster's node would."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(self, jobs: Iterable[CellJob]) -> Iterator[CellOutcome]:
        for job in jobs:
            file = Path(job.run_dir) / "node.json"
            file.write_text(job.model_dump_json())
            done = subprocess.run([sys.executable, "-m", "wm_core.cli.main", "run-cell", str(file)], check=False)
            yield CellOutcome(cell=job.cell, exit_code=done.returncode)


def test_a_strangers_executor_gives_the_same_report(tmp_path: Path) -> None:
    registry.register(Cluster, "executors", name="cluster")
    try:
        there = BenchmarkRunner(agent="random", out_dir=tmp_path / "a", executor="cluster").run("wm/Catch-v0", [3], 3)
    finally:
        registry.unregister("cluster", "executors")
    here = BenchmarkRunner(agent="random", out_dir=tmp_path / "b").run("wm/Catch-v0", [3], 3)
    assert there.games == here.games
