"""Cells that measure learning: what is trained, logged and recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wm_core import learning, registry
from wm_core.cell import run_cell
from wm_core.plan import Request, plan
from wm_core.protocols import CellJob
from wm_core.provenance import collect
from wm_core.seeds import episode_seeds
from wm_core.specs import Cell, FailureRecord, LearningRecord, RunSpec, TrainBudget
from wm_core.store import RunDirectory

GAME = Path(__file__).parent / "learning_game.py"


@pytest.fixture(autouse=True)
def game() -> Iterator[Any]:
    """The module of the game and its agents, registered for the test."""
    before = dict(registry._registered)
    module = registry._import_file(GAME)
    registry.load_file(f"{GAME}:COUNTING")
    for adapter in ("Learner", "LearnsElsewhere", "Breaks", "OnlyEvaluates"):
        registry.register(module.manifest(getattr(module, adapter)), "agents")
    module.Learner.trained.clear()
    yield module
    registry._registered.clear()
    registry._registered.update(before)
    registry.load_backend.cache_clear()


def planned(agent: str, game: str = "counting/0", **changes: Any) -> RunSpec:
    train = changes.pop("train", TrainBudget())
    trains = agent in ("learner", "learnselsewhere", "breaks") and not changes.get("untrained")
    request = Request(
        agent=agent,
        games=[game],
        seeds=[4],
        episodes=1,
        train=train if trains else None,
        untrained=changes.pop("untrained", False),
    )
    return plan(request).model_copy(update={"measures": "learning", **changes})


def measured(directory: Path, spec: RunSpec) -> tuple[int, RunDirectory]:
    run = RunDirectory.create_or_resume(directory, spec, collect(spec))
    return run_cell(CellJob(run_dir=str(directory), spec=spec, cell=spec.cells()[0])), run


def record(run: RunDirectory) -> LearningRecord:
    (found,) = [each for each in run.records() if isinstance(each, LearningRecord)]
    return found


def failure(run: RunDirectory) -> str:
    (found,) = [each.message for each in run.records() if isinstance(each, FailureRecord)]
    return found


def test_an_agent_that_does_not_train_acts_for_the_whole_run(tmp_path: Path) -> None:
    exit_code, run = measured(tmp_path, planned("random"))
    log = tmp_path / "learning" / "seed4" / "counting.json"
    assert exit_code == 0
    assert record(run) == LearningRecord(
        cell=Cell(agent="random", game="counting/0", seed=4),
        log="learning/seed4",
        sha256={"counting.json": hashlib.sha256(log.read_bytes()).hexdigest()},
        episodes=6,
        steps=18,
        learned=False,
    )
    assert json.loads(log.read_text()) == [episode_seeds(4, episode).env for episode in range(6)]


def test_an_agent_that_trains_is_given_the_steps_of_a_whole_run(tmp_path: Path, game: Any) -> None:
    exit_code, run = measured(tmp_path, planned("learner", settings={"rate": 0.5}))
    (request,) = game.Learner.trained
    assert exit_code == 0
    assert request.budget.steps == 18
    assert request.overrides == {"rate": 0.5}
    assert request.directory.parent == tmp_path / "training"
    assert (record(run).episodes, record(run).learned) == (6, True)


def test_a_budget_of_its_own_is_kept_and_what_is_short_is_recorded_so(tmp_path: Path, game: Any) -> None:
    exit_code, run = measured(tmp_path, planned("learner", train=TrainBudget(steps=10)))
    assert exit_code == 0
    assert game.Learner.trained[0].budget.steps == 10
    assert (record(run).episodes, record(run).steps) == (3, 9)


def test_a_training_ends_when_the_run_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_LOOK_EVERY_S", 0.0)
    exit_code, run = measured(tmp_path, planned("learner", train=TrainBudget(steps=10**9)))
    assert exit_code == 0
    assert record(run).episodes == 6
    assert not list((tmp_path / "training").glob("*/weights"))


def test_measured_untrained_an_agent_acts(tmp_path: Path, game: Any) -> None:
    exit_code, run = measured(tmp_path, planned("learner", untrained=True))
    assert exit_code == 0
    assert game.Learner.trained == []
    assert not record(run).learned


def test_a_cell_that_is_done_is_left_alone(tmp_path: Path, game: Any) -> None:
    spec = planned("learner")
    measured(tmp_path, spec)
    exit_code, run = measured(tmp_path, spec)
    assert exit_code == 0
    assert len(game.Learner.trained) == 1
    assert record(run).episodes == 6


def test_acting_that_was_stopped_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "learning" / "seed4" / "counting.json"
    log.parent.mkdir(parents=True)
    log.write_text("[1, 2, 3]")
    _, run = measured(tmp_path, planned("random"))
    assert json.loads(log.read_text())[0] == episode_seeds(4, 0).env
    assert record(run).episodes == 6


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("learnselsewhere", "did not play in the environment that logs: train in load_backend(spec.backend).make"),
        ("breaks", "RuntimeError: the gradient exploded"),
        ("onlyevaluates", "neither trains nor acts"),
    ],
)
def test_a_run_that_cannot_be_measured_is_a_failure_and_no_record(agent: str, said: str, tmp_path: Path) -> None:
    exit_code, run = measured(tmp_path, planned(agent))
    assert exit_code != 0
    assert said in failure(run)
    assert not [each for each in run.records() if isinstance(each, LearningRecord)]


def test_a_game_without_such_a_score_is_refused(tmp_path: Path) -> None:
    exit_code, run = measured(tmp_path, planned("random", "wm/Catch-v0"))
    assert exit_code == 2
    assert "wm/Catch-v0 has no score of a whole learning run" in failure(run)
