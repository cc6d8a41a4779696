"""What a run will take is said from cells that were really run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wm_core.plan import Request, plan
from wm_core.specs import Cell, RunSpec, Suite, TrainBudget
from wm_core.suites.estimate import Estimate, Trial, estimate, render, try_cell

LEARNING_GAME = Path(__file__).parents[1] / "learning_game.py"
SLOW_AGENTS = """
import time
from pathlib import Path
from wm_core.protocols import TrainProgress
from wm_core.random_policy import RandomPolicy
from wm_core.specs import AgentManifest

class Slow(RandomPolicy):
    def act(self, observations):
        time.sleep(0.02)
        return super().act(observations)

class Studious(RandomPolicy):
    def load_checkpoint(self, path): ...
    def train(self, request):
        for part in range(1000):
            time.sleep(0.01)
            request.on_progress(TrainProgress(done=part / 1000, steps=part))
        (request.directory / "w").write_text("1")
        return request.directory / "w"

SLOW = AgentManifest(name="slow", adapter=__file__ + ":Slow", needs_checkpoint=False)
STUDIOUS = AgentManifest(name="studious", adapter=__file__ + ":Studious", capabilities=("evaluate", "train"))
"""


def spec_of(tmp_path: Path, agent: str, **fields: Any) -> RunSpec:
    file = tmp_path / "slow_agents.py"
    file.write_text(SLOW_AGENTS)
    plugins = [f"{file}:{agent.upper()}", f"{LEARNING_GAME}:COUNTING"]
    request = Request(agent=agent, games=["wm/Catch-v0"], plugins=plugins, num_envs=2)
    return plan(replace(request, **fields))


@pytest.fixture(autouse=True)
def forget_plugins(plugin: str) -> None:
    """The agents registered here are forgotten after each test."""


def test_a_cell_that_does_not_end_is_extrapolated_from_its_episodes(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "slow", episodes=200)
    began = time.monotonic()
    trial = try_cell(spec, spec.cells()[0], seconds=2.0)
    assert time.monotonic() - began < 15
    assert "episodes of 9 steps" in trial.seen
    assert trial.seconds is not None
    assert 200 * 9 * 0.02 / 2 * 0.8 < trial.seconds < 200 * 9 * 0.02 / 2 * 2.5
    assert trial.disk is not None
    assert 20_000 < trial.disk < 200_000


def test_without_an_ended_episode_the_estimate_is_a_lower_bound(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "slow", episodes=200)
    assert "lower bound" in try_cell(spec, spec.cells()[0], seconds=0.02).seen


def test_a_training_is_extrapolated_from_its_progress(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "studious", episodes=1, train=TrainBudget(steps=1000))
    trial = try_cell(spec, spec.cells()[0], seconds=2.0)
    assert "% of the training in" in trial.seen
    assert trial.seconds is not None
    assert 5 < trial.seconds < 30


def test_a_learning_run_is_extrapolated_likewise_and_has_no_final_episodes(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "studious", games=["counting/0"], episodes=1, measures="learning")
    trial = try_cell(spec, spec.cells()[0], seconds=2.0)
    assert "% of the learning run in" in trial.seen
    assert "final episodes" not in trial.seen
    assert trial.seconds is not None
    assert 5 < trial.seconds < 30


def test_a_cell_that_fails_is_said(small: Suite) -> None:
    spec = plan(Request(agent="picky", games=["wm/Catch-v0"], seeds=[1], episodes=1, plugins=spec_plugins()))
    trial = try_cell(spec, spec.cells()[0], seconds=1.0)
    assert trial.seconds is None
    assert "seed 1 is not to my taste" in trial.seen


def spec_plugins() -> list[str]:
    return [f"{Path(__file__).parent / 'small_suite.py'}:PICKY"]


def test_trials_are_spread_over_the_games(small: Suite) -> None:
    games = ["wm/Catch-v0", "CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1"]
    spec = plan(Request(agent="random", games=games, seeds=[0, 1], episodes=1))
    found = estimate(spec, spec.cells(), workers=2)
    assert [trial.cell.game for trial in found.trials] == ["wm/Catch-v0", "MountainCar-v0", "Pendulum-v1"]
    assert found.cells == 10
    assert found.seconds == pytest.approx(5 * sum(t.seconds or 0 for t in found.trials) / 3)


def test_nothing_left_takes_no_time(tmp_path: Path) -> None:
    found = estimate(spec_of(tmp_path, "slow"), [], workers=2)
    assert render(found) == ["estimate: everything is measured already"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(20.0, "20 s"), (1200.0, "20 min"), (7200.0, "2.0 h"), (400_000.0, "4.6 days"), (None, "unknown")],
)
def test_times_are_said_in_units_people_read(seconds: float | None, said: str) -> None:
    trial = Trial(cell=Cell(agent="a", game="g", seed=3), seconds=seconds, disk=1500, seen="seen")
    lines = render(Estimate(cells=2, workers=1, seconds=seconds, disk=3000, trials=(trial,)))
    assert said in lines[0]
    assert "3 kB" in lines[0]
    assert lines[1] == "  g, seed 3: seen"
