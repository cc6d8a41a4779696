"""Reports of suites: partial runs, weights of each seed, learning runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wm_core.provenance import collect
from wm_core.reporting.markdown import to_markdown
from wm_core.results import build_report
from wm_core.specs import Checkpoint, EnvSpec, EpisodeRecord, LearningRecord, RunReport, RunSpec
from wm_core.store import RunDirectory

PONG, BOXING, ALIEN = "ALE/Pong-v5", "ALE/Boxing-v5", "ALE/Alien-v5"
ATARI = {"backend": "atari", "protocol": "atari100k", "image_size": (64, 64), "frame_skip": 4}


def weights(name: str) -> Checkpoint:
    return Checkpoint(path=f"{name}.pt", sha256=f"{sum(map(ord, name)):064x}")


def reported(directory: Path, measured: dict[tuple[str, int], float], **fields: Any) -> RunReport:
    """The report of a run of two seeds, in which the cells of `measured` have their one episode."""
    games = fields.pop("games", (PONG, BOXING))
    spec = RunSpec(
        agent="iris",
        adapter="wm_core.random_policy:RandomPolicy",
        envs=tuple(EnvSpec(requested=game, id=game, **ATARI) for game in games),
        seeds=(0, 1),
        episodes=1,
        **fields,
    )
    run = RunDirectory.create_or_resume(directory, spec, collect(spec))
    for cell in spec.cells():
        if (cell.game, cell.seed) in measured:
            value = measured[cell.game, cell.seed]
            how = {"env_seed": 1, "length": 5, "terminated": True, "truncated": False}
            run.append(EpisodeRecord(cell=cell, episode=0, episode_return=value, **how))
    return build_report(run)


def test_aggregates_are_over_the_games_with_complete_seeds_and_say_so(tmp_path: Path) -> None:
    cells = {(game, seed): 1.0 + seed for game in (PONG, BOXING) for seed in (0, 1)}
    report = reported(tmp_path, cells, games=(PONG, BOXING, ALIEN), checkpoints={PONG: weights("p")}, partial=True)
    assert report.aggregate.mean is not None
    assert report.aggregate.mean.point == pytest.approx(((22.2 / 35.3) + (1.4 / 12)) / 2)
    assert report.aggregate.per_seed_means == (None, None)
    text = to_markdown(report)
    assert "over the 4 of 6 runs that are complete, which leaves out 1 of 3 games" in text
    assert "4/6" in text


def test_a_cell_without_weights_is_named_planned_and_never_a_zero(tmp_path: Path) -> None:
    own = {BOXING: {0: weights("b0")}}
    report = reported(tmp_path, {(BOXING, 0): 6.0}, seed_checkpoints=own, partial=True)
    assert [(cell.game, cell.seed) for cell in report.missing] == [(PONG, 0), (PONG, 1), (BOXING, 1)]
    assert (report.coverage.measured, report.coverage.planned) == (1, 4)
    assert report.games[0].aggregate.per_seed_means == (None, None)
    assert f"no checkpoint was given for {PONG}, {BOXING} (seed 1)" in report.notes[0]
    assert "no checkpoint was given" in to_markdown(report)


def test_weights_of_each_seed_make_it_a_training_run(tmp_path: Path) -> None:
    own = {game: {seed: weights(f"{game}{seed}") for seed in (0, 1)} for game in (PONG, BOXING)}
    report = reported(tmp_path, {(PONG, 0): 1.0}, seed_checkpoints=own)
    assert report.seeds_vary.startswith("training and evaluation: each seed is a training run, measured from its own")
    assert [seed.checkpoint_sha256 for seed in report.games[0].seeds] == [own[PONG][s].sha256 for s in (0, 1)]


def test_games_of_which_only_some_vary_the_training_are_named(tmp_path: Path) -> None:
    own = {PONG: {seed: weights(f"p{seed}") for seed in (0, 1)}}
    report = reported(tmp_path, {}, seed_checkpoints=own, checkpoints={BOXING: weights("b")})
    assert report.seeds_vary.startswith(f"mixed: training and evaluation in {PONG}")
    assert report.seeds_vary.endswith(f"evaluation only in {BOXING}")


def test_learning_runs_are_covered_but_have_no_mean(tmp_path: Path) -> None:
    env = EnvSpec(requested="wm/Catch-v0", id="wm/Catch-v0", backend="catch")
    spec = RunSpec(agent="random", adapter="a:B", envs=(env,), seeds=(0, 1), episodes=1, measures="learning")
    run = RunDirectory.create_or_resume(tmp_path, spec, collect(spec))
    cell = spec.cells()[0]
    run.append(LearningRecord(cell=cell, log="logs/x", sha256={}, episodes=10, steps=90, learned=False))
    report = build_report(run)
    assert (report.coverage.measured, report.coverage.planned) == (1, 2)
    assert report.aggregate.mean is None
    text = to_markdown(report)
    assert "| wm/Catch-v0 | 0 | done<sup>a</sup> | 10 | 90 |" in text
    assert "| wm/Catch-v0 | 1 | not done | — | — |" in text
