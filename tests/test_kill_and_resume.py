"""A run killed at random moments ends with the report of an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

KILLS = 20
SLOW_AGENT = """
import time
from wm_core.random_policy import RandomPolicy
from wm_core.specs import AgentManifest

class Slow(RandomPolicy):
    def act(self, observations):
        time.sleep(0.004)
        return super().act(observations)

SLOW = AgentManifest(name="slow", adapter=__file__ + ":Slow", needs_checkpoint=False)
"""


def command(agent: Path, out: Path, workers: int) -> list[str]:
    return [
        *(sys.executable, "-m", "wm_core.cli.main", "run", "-a", "slow", "--plugin", f"{agent}:SLOW"),
        *("-g", "ALE/Pong-v5", "--env", "max_frames=160", "--seeds", "2", "-n", "24", "--num-envs", "3"),
        *("--workers", str(workers), "--out-dir", str(out)),
    ]


def without_times(path: Path) -> Any:
    """The report less what tells when and by which command line it was made."""
    report = json.loads(path.read_text())
    report["wall_time_s"] = report["provenance"]["started"] = report["provenance"]["command"] = None
    return json.dumps(report, indent=1)


def kill_until_done(arguments: list[str], out: Path, rng: random.Random) -> int:
    """Kill the run's whole process group again and again; the number of kills that hit it alive."""
    kills = 0
    while True:
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        if kills >= KILLS:
            assert process.wait(timeout=120) == 0
            return kills
        recorded = (out / "episodes.jsonl").stat().st_size if (out / "episodes.jsonl").exists() else 0
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            size = (out / "episodes.jsonl").stat().st_size if (out / "episodes.jsonl").exists() else 0
            if size > recorded:
                break
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.12))
        if process.poll() is not None:
            return kills
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1


def test_a_run_killed_twenty_times_gives_the_report_of_an_undisturbed_one(tmp_path: Path) -> None:
    agent = tmp_path / "slow.py"
    agent.write_text(SLOW_AGENT)
    subprocess.run(command(agent, tmp_path / "whole", 1), check=True, capture_output=True)
    kills = kill_until_done(command(agent, tmp_path / "killed", 1), tmp_path / "killed", random.Random(0))
    assert kills >= KILLS
    results = "benchmark_results"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert without_times(killed / f"{results}.json") == without_times(whole / f"{results}.json")
    assert (killed / f"{results}.csv").read_bytes() == (whole / f"{results}.csv").read_bytes()


def test_a_worker_does_not_outlive_its_parent(tmp_path: Path) -> None:
    agent = tmp_path / "slow.py"
    agent.write_text(SLOW_AGENT)
    parent = subprocess.Popen(command(agent, tmp_path / "out", 2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(workers(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(workers(tmp_path)) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while workers(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers(tmp_path) == []


def workers(directory: Path) -> list[str]:
    """Processes that run a cell of that directory."""
    listing = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if "run-cell" in line and str(directory) in line]
