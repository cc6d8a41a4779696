"""From a run directory to scores, tables' rows and figures; and the command that scores any directory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from bsuite_logs import made_log, write_experiment
from click.testing import CliRunner

from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.errors import StoreError, UsageError
from wm_core.provenance import collect
from wm_core.specs import Cell, LearningRecord, RunSpec
from wm_core.store import RunDirectory
from wm_env_bsuite.command import bsuite_score
from wm_env_bsuite.experiments import EXPERIMENTS, IDS
from wm_env_bsuite.figures import by_experiment, by_tag, draw
from wm_env_bsuite.log_files import log_file, write_log
from wm_env_bsuite.scorer import score_run
from wm_env_bsuite.scores import score, score_of_id
from wm_env_bsuite.suite import BSUITE


def run_of(path: Path, experiments: tuple[str, ...], seeds: tuple[int, ...] = (0,)) -> RunDirectory:
    games = [game for name in experiments for game in EXPERIMENTS[name].bsuite_ids()]
    spec = RunSpec(
        agent="random",
        adapter="wm_core.random_policy:RandomPolicy",
        envs=tuple(resolve_env(game) for game in games),
        seeds=seeds,
        episodes=1,
        measures="learning",
    )
    return RunDirectory.create_or_resume(path, spec, collect(spec))


def record(run: RunDirectory, game: str, seed: int, learned: bool = False) -> None:
    path = log_file(run.path / "learning" / f"seed{seed}", game)
    run.append(
        LearningRecord(
            cell=Cell(agent="random", game=game, seed=seed),
            log=f"learning/seed{seed}",
            sha256={path.name: hashlib.sha256(path.read_bytes()).hexdigest()},
            episodes=1,
            steps=1,
            learned=learned,
        )
    )


def measured(path: Path, experiments: tuple[str, ...], seeds: tuple[int, ...] = (0,)) -> RunDirectory:
    """A run of whole logs."""
    run = run_of(path, experiments, seeds)
    for seed in seeds:
        for name in experiments:
            write_experiment(path / "learning" / f"seed{seed}", name, seed)
            for game in EXPERIMENTS[name].bsuite_ids():
                record(run, game, seed)
    return run


def test_the_suite_is_all_of_bsuite() -> None:
    assert registry.load("suites", "bsuite") == BSUITE
    assert set(BSUITE.ids()) == set(IDS)
    assert list(BSUITE.games) == list(EXPERIMENTS)


def test_every_seed_of_a_whole_experiment_has_its_score(tmp_path: Path) -> None:
    scores = score_run(measured(tmp_path, ("catch", "memory_size"), seeds=(0, 3)))
    assert [(row.group, row.seed) for row in scores.rows] == [
        *(("catch", 0), ("catch", 3)),
        *(("memory_size", 0), ("memory_size", 3)),
    ]
    for row in scores.rows:
        logs = write_experiment(tmp_path / "again", row.group, row.seed)
        assert row.score == score(row.group, logs)
        assert (row.complete, row.done, row.planned) == (True, len(logs), len(logs))
        assert row.tags == EXPERIMENTS[row.group].tags


def test_an_incomplete_experiment_says_what_is_short_and_has_no_score(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", ("bandit",))
    directory = tmp_path / "run" / "learning" / "seed0"
    write_log(log_file(directory, "bandit/4"), made_log("bandit/4", np.random.default_rng(0), 1200))
    record(run, "bandit/4", 0)
    (row,) = score_run(run).rows
    assert (row.score, row.complete, row.done, row.planned) == (None, False, 19, 20)
    assert row.detail == "bandit/4: 1200 of 10000 episodes"


def test_what_was_not_planned_is_lacking_too(tmp_path: Path) -> None:
    run = run_of(tmp_path, ("discounting_chain",))
    for index in range(5):
        game = f"discounting_chain/{index}"
        write_log(
            log_file(tmp_path / "learning" / "seed0", game),
            made_log(game, np.random.default_rng(0), 1000 - 100 * index),
        )
        record(run, game, 0)
    (row,) = score_run(run).rows
    assert (row.done, row.planned) == (1, 20)
    assert row.detail == (
        "discounting_chain/1: 900 of 1000 episodes; discounting_chain/2: 800 of 1000 episodes; "
        "discounting_chain/3: 700 of 1000 episodes; 1 more that are short; no log of 15 ids"
    )


def test_the_notes_say_who_did_not_learn_and_what_tags_cover(tmp_path: Path) -> None:
    run = measured(tmp_path, ("bandit",))
    _, covered, acted = score_run(run).notes
    assert covered.startswith("1 of bsuite's 23 experiments are in this run")
    assert acted == "random did not learn: it acted for as many episodes as a learning run has"
    record(run, "bandit/0", 0, learned=True)
    assert len(score_run(run).notes) == 2


@pytest.mark.parametrize(("change", "said"), [("1", "has changed since it was recorded"), (None, "is gone")])
def test_a_log_that_is_not_what_was_recorded_is_not_scored(change: str | None, said: str, tmp_path: Path) -> None:
    run = measured(tmp_path, ("bandit",))
    path = log_file(tmp_path / "learning" / "seed0", "bandit/3")
    if change is None:
        path.unlink()
    else:
        path.write_text(path.read_text().replace("0.5", change))
    with pytest.raises(StoreError, match=rf"bandit-3\.csv, the log of random on bandit/3, seed 0, {said}"):
        score_run(run)


def test_a_tag_is_the_mean_of_its_scored_experiments(tmp_path: Path) -> None:
    rows = score_run(measured(tmp_path, ("bandit", "catch"), seeds=(0, 1))).rows
    means = {name: np.mean(values) for name, values in by_experiment(rows).items()}
    tags = by_tag(rows)
    assert tags["basic"] == (pytest.approx(np.mean([means["bandit"], means["catch"]])), 2, 5)
    assert tags["credit_assignment"][1:] == (1, 7)
    assert tags["memory"] == (None, 0, 2)


def test_the_figures_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = draw(score_run(measured(tmp_path, ("bandit", "catch"), seeds=(0, 1))), tmp_path)
    assert {file.name for file in files} >= {"bsuite-radar.png", "bsuite-experiments.png"}
    assert all(file.stat().st_size > 1000 for file in files)


def test_the_command_scores_any_directory(tmp_path: Path) -> None:
    logs = write_experiment(tmp_path, "catch_noise", 0)
    write_log(log_file(tmp_path, "bandit/0"), made_log("bandit/0", np.random.default_rng(0), 1200))
    done = CliRunner().invoke(bsuite_score, [str(tmp_path), "--json"], catch_exceptions=False)
    found = json.loads(done.output)
    assert found["experiments"] == {
        "bandit": {"score": None, "done": 0, "planned": 20},
        "catch_noise": {"score": score("catch_noise", logs), "done": 20, "planned": 20},
    }
    assert found["ids"]["catch_noise/3"]["score"] == score_of_id("catch_noise/3", logs[3])
    assert found["ids"]["bandit/0"] == {"score": None, "done": 1200, "planned": 10000}
    assert "incomplete 1200/10000" in CliRunner().invoke(bsuite_score, [str(tmp_path)]).output


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no log of bsuite"):
        CliRunner().invoke(bsuite_score, [str(tmp_path)], catch_exceptions=False)
