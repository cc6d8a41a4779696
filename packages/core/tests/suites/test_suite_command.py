"""`wmbench suite`, `suites` and `merge`, as a person and as a machine use them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SMALL_SUITE = Path(__file__).parent / "small_suite.py"


def wmbench(*arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in an interpreter of its own and expect an exit code."""
    command = [sys.executable, "-m", "wm_core.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=120)
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def plugins(*names: str) -> list[str]:
    return [part for name in names for part in ("--plugin", f"{SMALL_SUITE}:{name}")]


def suite(cwd: Path, *arguments: object, agent: str = "random", name: str = "small", code: int = 0) -> Any:
    given = plugins("SMALL", "LEARNING", "SCORED", "SCORED_BADLY", "NUMBERED", "PICKY")
    return wmbench("suite", name, "-a", agent, *arguments, "--out-dir", "out", *given, cwd=cwd, code=code)


def report(cwd: Path) -> Any:
    return json.loads((cwd / "out" / "benchmark_results.json").read_text())


def test_suites_lists_what_is_installed(tmp_path: Path) -> None:
    assert "atari100k" in wmbench("suites", cwd=tmp_path).stdout
    rows = json.loads(wmbench("suites", "--json", cwd=tmp_path).stdout)
    atari = next(row for row in rows if row["name"] == "atari100k")
    assert len(atari["games"]) == 26
    assert atari["source"].startswith("wm-core ")


def test_ids_of_suites_are_listed_group_by_group(tmp_path: Path) -> None:
    assert "atari100k\tPong\tALE/Pong-v5" in wmbench("suites", "--ids", cwd=tmp_path).stdout


def test_a_suite_that_measures_learning_takes_no_checkpoints(tmp_path: Path) -> None:
    done = suite(tmp_path, "--checkpoints", tmp_path, name="learning", code=2)
    assert "measures learning, which starts from fresh weights; leave --checkpoints out" in done.stderr


def test_a_whole_suite_is_measured_and_done_again_measures_nothing(tmp_path: Path) -> None:
    suite(tmp_path, "--seeds", 2, "-n", 1)
    records = (tmp_path / "out" / "episodes.jsonl").read_text().count('"episode"')
    suite(tmp_path, "--seeds", "0,1", "-n", 1)
    assert report(tmp_path)["coverage"] == {"measured": 6, "planned": 6}
    assert (tmp_path / "out" / "episodes.jsonl").read_text().count('"episode"') == records


def test_only_a_part_is_measured(tmp_path: Path) -> None:
    suite(tmp_path, "--only", "catch,CartPole-v1", "--seeds", 1, "-n", 1)
    assert [game["env"]["id"] for game in report(tmp_path)["games"]] == ["wm/Catch-v0", "CartPole-v1"]


def test_an_unknown_suite_is_refused_with_the_nearest(tmp_path: Path) -> None:
    done = wmbench("suite", "atari10k", "-a", "random", cwd=tmp_path, code=2)
    assert "did you mean atari100k?" in done.stderr


def test_what_is_there_is_measured_and_what_is_missing_is_listed(tmp_path: Path) -> None:
    (tmp_path / "w" / "catch").mkdir(parents=True)
    (tmp_path / "w" / "catch" / "seed-0.txt").write_text("1")
    (tmp_path / "w" / "catch" / "seed-2.txt").write_text("2")
    (tmp_path / "w" / "MountainCar-v0.txt").write_text("3")
    (tmp_path / "w" / "Caught.txt").write_text("4")
    done = suite(tmp_path, "--checkpoints", "w", "-n", 1, agent="numbered", code=1)
    assert "no checkpoint: wm/Catch-v0 (seed 1), CartPole-v1" in done.stderr
    assert "not used" in done.stderr
    assert "Caught.txt" in done.stderr
    found = report(tmp_path)
    assert found["coverage"] == {"measured": 5, "planned": 9}
    assert [seed["mean"] for seed in found["games"][1]["seeds"]] == [None, None, None]
    assert found["failures"] == []
    assert found["seeds_vary"].startswith("mixed")


def test_a_checkpoint_that_comes_later_is_measured_by_the_same_command(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "catch.txt").write_text("1")
    arguments = ("--checkpoints", "w", "-n", 1, "--seeds", 1, "--only", "catch,CartPole-v1")
    suite(tmp_path, *arguments, agent="numbered", code=1)
    (tmp_path / "w" / "CartPole-v1.txt").write_text("2")
    suite(tmp_path, *arguments, agent="numbered")
    assert report(tmp_path)["coverage"] == {"measured": 2, "planned": 2}
    (tmp_path / "w" / "CartPole-v1.txt").write_text("3")
    done = suite(tmp_path, *arguments, agent="numbered", code=2)
    assert "differs in: checkpoints" in done.stderr


def test_training_comes_first_with_the_suites_budget(tmp_path: Path) -> None:
    suite(tmp_path, "--train", "-n", 1, "--seeds", 1, "--only", "catch", "--set", "offset=100", agent="numbered")
    assert (tmp_path / "out" / "training" / "wm_Catch-v0.seed0" / "weights.txt").read_text() == "107"
    assert report(tmp_path)["trained_here"]["steps"] == 7


def test_steps_shorten_the_training(tmp_path: Path) -> None:
    suite(tmp_path, "--train", "--steps", 3, "-n", 1, "--seeds", 1, "--only", "catch", agent="numbered")
    assert (tmp_path / "out" / "training" / "wm_Catch-v0.seed0" / "weights.txt").read_text() == "3"


def test_steps_without_a_training_are_refused(tmp_path: Path) -> None:
    assert "add --train" in suite(tmp_path, "--steps", 3, code=2).stderr


def test_what_failed_is_left_alone_until_it_is_to_be_retried(tmp_path: Path) -> None:
    arguments = ("-n", 1, "--only", "catch")
    done = suite(tmp_path, *arguments, agent="picky", code=1)
    assert "failed: picky on wm/Catch-v0, seed 1" in done.stderr
    assert "--retry-failed tries what has failed again" in done.stderr
    assert [seed["mean"] is None for seed in report(tmp_path)["games"][0]["seeds"]] == [False, True, False]
    (tmp_path / "mended").touch()
    done = suite(tmp_path, *arguments, agent="picky", code=1)
    assert "failed: picky on wm/Catch-v0, seed 1" in done.stderr
    suite(tmp_path, *arguments, "--retry-failed", agent="picky")
    assert report(tmp_path)["coverage"] == {"measured": 3, "planned": 3}


def test_a_dry_run_says_what_it_will_take_from_cells_that_were_run(tmp_path: Path) -> None:
    done = suite(tmp_path, "--seeds", 2, "-n", 1, "--workers", 2, "--dry-run")
    assert "6 cells, each 1 episodes" in done.stdout
    assert "estimate for 6 cells on 2 workers: time about" in done.stdout
    assert done.stdout.count("measured whole in") == 3
    assert not (tmp_path / "out").exists()


def test_a_dry_run_is_json_for_machines(tmp_path: Path) -> None:
    done = suite(tmp_path, "--seeds", 1, "-n", 1, "--only", "catch", "--dry-run", "--json")
    plan, estimate = map(json.loads, done.stdout.splitlines())
    assert plan["spec"]["suite"] == "small"
    assert estimate["cells"] == 1
    assert estimate["seconds"] > 0
    assert estimate["disk"] > 0


def test_json_events_are_all_that_is_on_standard_output(tmp_path: Path) -> None:
    done = suite(tmp_path, "--seeds", 1, "-n", 1, "--only", "catch", "--json")
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events[0] == "started"
    assert "episode" in events
    assert events[-1] == "finished"


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_suite_with_a_scorer_is_scored_by_it(tmp_path: Path, json_option: tuple[str, ...]) -> None:
    done = suite(tmp_path, *json_option, name="scored")
    assert json.loads((tmp_path / "out" / "suite.json").read_text())
    assert (tmp_path / "out" / "figures" / "scores.txt").read_text() == "2"
    if json_option:
        last = json.loads(done.stdout.splitlines()[-1])
        assert [row["score"] for row in last["rows"]] == [1.0, 1.0]
    else:
        assert "a score of nothing" in done.stdout


def test_a_scorer_that_returns_something_else_is_named(tmp_path: Path) -> None:
    done = suite(tmp_path, name="scored-badly", code=2)
    assert "no_scores returned str; expected wm_core.specs.SuiteScores" in done.stderr


def test_merged_runs_are_one_run(tmp_path: Path) -> None:
    for seed in (0, 1):
        wmbench("run", "-a", "random", "-n", 3, "--seeds", f"{seed},", "--out-dir", f"seed{seed}", cwd=tmp_path)
    wmbench("run", "-a", "random", "-n", 3, "--seeds", 2, "--out-dir", "whole", cwd=tmp_path)
    wmbench("merge", "seed0", "seed1", "-o", "merged", cwd=tmp_path)
    whole, merged = (
        json.loads((tmp_path / name / "benchmark_results.json").read_text()) for name in ("whole", "merged")
    )
    assert [seed["episode_returns"] for seed in merged["games"][0]["seeds"]] == [
        seed["episode_returns"] for seed in whole["games"][0]["seeds"]
    ]
    assert merged["aggregate"] == whole["aggregate"]
    assert merged["spec_sha256"] == whole["spec_sha256"]
