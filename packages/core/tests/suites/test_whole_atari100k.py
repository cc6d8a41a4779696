"""The random agent plays all 26 games of Atari 100k, undisturbed and killed."""

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

import pytest

pytestmark = pytest.mark.slow


def command(out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "wm_core.cli.main", "suite", "atari100k", "-a", "random"),
        *("--seeds", "2", "-n", "1", "--workers", "2", "--out-dir", str(out)),
    ]


def without_times(path: Path) -> Any:
    """The report less what tells when and by which command line it was made."""
    report = json.loads((path / "benchmark_results.json").read_text())
    report["wall_time_s"] = report["provenance"]["started"] = report["provenance"]["command"] = None
    return report


def recorded(path: Path) -> int:
    """How many episodes are in the store."""
    store = path / "episodes.jsonl"
    return store.read_text().count('"kind":"episode"') if store.exists() else 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    subprocess.run(command(out), check=True, capture_output=True, timeout=600)
    return out


def test_the_random_agent_is_random_on_the_human_normalised_scale(whole: Path) -> None:
    report = without_times(whole)
    assert report["coverage"] == {"measured": 52, "planned": 52}
    assert len(report["games"]) == 26
    mean = report["aggregate"]["mean"]
    assert report["aggregate"]["scale"] == "human-normalised"
    assert abs(mean["point"]) < 0.05
    assert mean["lo"] <= 0.0 <= mean["hi"]


def test_a_suite_killed_twice_gives_the_report_of_an_undisturbed_one(whole: Path, tmp_path: Path) -> None:
    out, rng = tmp_path / "killed", random.Random(0)
    for _ in range(2):
        enough = recorded(out) + rng.randint(1, 20)
        process = subprocess.Popen(
            command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and recorded(out) < enough:
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.0))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert 0 < recorded(out) < 52
    subprocess.run(command(out), check=True, capture_output=True, timeout=600)
    assert without_times(out) == without_times(whole)
    assert (out / "benchmark_results.csv").read_bytes() == (whole / "benchmark_results.csv").read_bytes()
