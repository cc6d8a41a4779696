"""A suite and what a user adds to it become one RunSpec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wm_core.errors import UsageError
from wm_core.plan import Request, plan
from wm_core.specs import Cell, RunSpec, Suite, TrainBudget
from wm_core.suites.checkpoints import find_checkpoints
from wm_core.suites.planning import default_directory, plan_suite, training_budget

RANDOM = Request(agent="random")
NUMBERED = Request(agent="numbered")


def with_weights(small: Suite, weights: Path, **files: str) -> RunSpec:
    for name, text in files.items():
        path = weights / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return plan_suite(small, NUMBERED, checkpoints=find_checkpoints(weights, small))


def test_the_suite_says_what_the_request_leaves_open(small: Suite) -> None:
    spec = plan_suite(small, RANDOM)
    assert [env.id for env in spec.envs] == ["wm/Catch-v0", "CartPole-v1", "MountainCar-v0"]
    assert (spec.seeds, spec.episodes, spec.suite) == ((0, 1, 2), 2, "small")


def test_what_the_request_says_wins(small: Suite) -> None:
    spec = plan_suite(small, replace(RANDOM, seeds=(5,), episodes=1))
    assert (spec.seeds, spec.episodes) == ((5,), 1)


def test_the_suites_protocol_is_used() -> None:
    from wm_core.suites.atari100k import ATARI_100K

    assert {env.protocol for env in plan_suite(ATARI_100K, RANDOM).envs} == {"atari100k"}


def test_games_without_a_checkpoint_are_planned_as_missing(small: Suite, weights: Path) -> None:
    spec = with_weights(small, weights, **{"catch.txt": "1"})
    assert spec.partial
    assert {cell.game for cell in spec.missing()} == {"CartPole-v1", "MountainCar-v0"}
    assert len(spec.cells()) == 9


def test_each_seed_has_its_own_checkpoint(small: Suite, weights: Path) -> None:
    spec = with_weights(small, weights, **{"catch/seed-0.txt": "1", "catch/seed-2.txt": "2"})
    first, second = (spec.checkpoint(Cell(agent="numbered", game="wm/Catch-v0", seed=seed)) for seed in (0, 2))
    assert first is not None
    assert second is not None
    assert first.sha256 != second.sha256
    assert [cell.seed for cell in spec.missing() if cell.game == "wm/Catch-v0"] == [1]


def test_checkpoints_of_other_seeds_only_are_refused(small: Suite, weights: Path) -> None:
    (weights / "catch").mkdir()
    (weights / "catch" / "seed-7.txt").write_text("1")
    with pytest.raises(UsageError, match="no checkpoint is of the seeds 0, 1, 2"):
        plan_suite(small, NUMBERED, checkpoints=find_checkpoints(weights, small))


def test_a_checkpoint_that_comes_later_completes_the_run(small: Suite, weights: Path) -> None:
    before = with_weights(small, weights, **{"catch.txt": "1"})
    after = with_weights(small, weights, **{"CartPole-v1.txt": "2"})
    assert after.digest() != before.digest()
    assert after.completes(before)
    assert not before.completes(after)


def test_a_checkpoint_that_changes_is_another_run(small: Suite, weights: Path) -> None:
    before = with_weights(small, weights, **{"catch.txt": "1"})
    assert not with_weights(small, weights, **{"catch.txt": "2"}).completes(before)


def test_more_checkpoints_do_not_change_where_the_run_lies(small: Suite, weights: Path) -> None:
    before = default_directory(small, with_weights(small, weights, **{"catch.txt": "1"}), weights)
    after = default_directory(small, with_weights(small, weights, **{"CartPole-v1.txt": "2"}), weights)
    assert before == after
    assert before.name.startswith("small-numbered-")


def test_an_agent_without_weights_names_the_ways_of_a_suite(small: Suite) -> None:
    with pytest.raises(UsageError, match=r"give --checkpoints DIR, or --train to train first, or --untrained"):
        plan_suite(small, NUMBERED)


def test_checkpoints_and_training_exclude_each_other(small: Suite, weights: Path) -> None:
    (weights / "catch.txt").write_text("1")
    with pytest.raises(UsageError, match="exclude each other"):
        plan_suite(small, replace(NUMBERED, train=TrainBudget()), checkpoints=find_checkpoints(weights, small))


def test_the_budget_is_the_suites_unless_steps_are_said(small: Suite) -> None:
    assert training_budget(small, None) == TrainBudget(steps=7)
    assert training_budget(small, 3) == TrainBudget(steps=3)


def learning(small: Suite) -> Suite:
    return small.model_copy(update={"measures": "learning", "episodes": 1})


def test_a_learning_suite_trains_what_can_be_trained_for_its_budget(small: Suite) -> None:
    assert plan_suite(learning(small), NUMBERED).train == TrainBudget(steps=7)
    assert plan_suite(learning(small), RANDOM).train is None


def test_a_learning_suite_takes_no_checkpoints(small: Suite, weights: Path) -> None:
    (weights / "catch.txt").write_text("1")
    with pytest.raises(UsageError, match="begins with fresh weights"):
        plan_suite(learning(small), NUMBERED, checkpoints=find_checkpoints(weights, small))


def test_settings_are_part_of_what_is_measured(small: Suite) -> None:
    budget = TrainBudget(steps=1)
    plain = plan(Request(agent="numbered", train=budget))
    other = plan(Request(agent="numbered", train=budget, settings={"offset": 3}))
    assert list(plain.differences(other)) == ["settings"]


def test_settings_without_a_training_are_refused(small: Suite) -> None:
    with pytest.raises(UsageError, match="nothing is trained here"):
        plan(Request(agent="random", settings={"offset": 3}))


def test_fields_of_suites_leave_the_identity_of_other_runs_alone(small: Suite) -> None:
    names = plan(Request(agent="random")).identity()
    assert not {"measures", "settings", "seed_checkpoints", "partial", "suite"} & set(names)


def test_a_job_carries_only_its_own_cell(small: Suite, weights: Path) -> None:
    spec = with_weights(small, weights, **{"catch/seed-0.txt": "1", "CartPole-v1.txt": "2"})
    cell = Cell(agent="numbered", game="wm/Catch-v0", seed=0)
    job = spec.of_cell(cell)
    assert job.cells() == [cell]
    assert job.checkpoint(cell) == spec.checkpoint(cell)
    assert not job.checkpoints
