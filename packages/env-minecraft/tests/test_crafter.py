from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import crafter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.cli.main import cli
from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError
from wm_core.specs import Cell, EpisodeRecord
from wm_core.store import RunDirectory
from wm_core.testing import EnvConformance
from wm_env_minecraft import crafter_backend
from wm_env_minecraft.crafter_backend import CrafterBackend
from wm_env_minecraft.crafter_env import Crafter
from wm_env_minecraft.crafter_report import scored
from wm_env_minecraft.crafter_score import ACHIEVEMENTS, crafter_score, success_rates
from wm_env_minecraft.plugin import CRAFTER

TRACE = """
import hashlib, sys
import numpy as np
from wm_env_minecraft.crafter_env import Crafter

kept = [object() for _ in range(int(sys.argv[1]))]  # other addresses, and so another order of sets
env, digest = Crafter(area=(32, 32)), hashlib.sha256()  # where equal seeds part in the published package, too
actions = np.random.default_rng(0).integers(17, size=500).tolist()
digest.update(env.reset(seed=3)[0].tobytes())
for action in actions:
    frame, reward, terminated, truncated, info = env.step(action)
    digest.update(frame.tobytes() + np.float64(reward).tobytes() + info["semantic"].tobytes())
    if terminated:
        env.reset()
print(digest.hexdigest())
"""


def test_equal_seeds_give_equal_500_steps_in_other_processes_with_other_hash_seeds() -> None:
    processes = []
    for hash_seed, objects in (("0", "1"), ("1", "54321")):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", TRACE, objects]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    first, second = (process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert len(first.strip()) == 64
    assert first == second


SMALL = (24, 24)
"""Worlds in a tenth of the time, for tests that do not look at the world."""


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crafter_backend, "AREA", SMALL)


@pytest.mark.usefixtures("_small")
class TestConformance(EnvConformance):
    """The kit, which makes thirty worlds."""

    manifest = CRAFTER
    game = "crafter/Reward-v1"


def test_a_seeds_first_world_is_the_published_one() -> None:
    np.testing.assert_array_equal(Crafter().reset(seed=0)[0], crafter.Env(seed=0).reset())


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seeds_episodes_are_those_of_crafter_with_that_seed(seed: int) -> None:
    env, published = Crafter(area=SMALL), crafter.Env(seed=seed, area=SMALL)
    np.testing.assert_array_equal(env.reset(seed=seed)[0], published.reset())
    for action in (1, 5, 3, 5, 6):
        frame, reward, _, _, info = env.step(action)
        expected, expected_reward, _, expected_info = published.step(action)
        np.testing.assert_array_equal(frame, expected)
        np.testing.assert_array_equal(info["semantic"], expected_info["semantic"])
        assert reward == expected_reward
    np.testing.assert_array_equal(env.reset()[0], published.reset())


def test_without_a_seed_no_global_generator_is_touched() -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[union-attr,index]
    Crafter(area=SMALL).reset()
    assert np.random.get_state()[1].tolist() == before  # type: ignore[union-attr,index]


@pytest.mark.usefixtures("_small")
def test_death_terminates_and_the_limit_truncates() -> None:
    env = Crafter(area=SMALL)
    env.reset(seed=0)
    env._game._player.health = 0
    _, _, terminated, truncated, _ = env.step(0)
    assert (terminated, truncated) == (True, False)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)
    with closing(CrafterBackend().make(resolve_env("crafter/Reward-v1", overrides={"max_frames": 3}))) as limited:
        limited.reset(seed=0)
        ends = [limited.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_the_ids_mean_what_was_published() -> None:
    spec = resolve_env("crafter/Reward-v1")
    assert (spec.image_size, spec.max_frames, spec.observation) == ((64, 64), 10_000, "rgb")
    with closing(CrafterBackend().make(spec)) as env:
        assert str(env.action_space) == "Discrete(17)"


def test_without_reward_there_is_none() -> None:
    env = Crafter(reward=False, area=SMALL)
    env.reset(seed=0)
    env._game._player.achievements["collect_wood"] = 1
    assert env.step(0)[1] == 0.0


def test_a_first_achievement_is_worth_one_and_counted() -> None:
    env = Crafter(area=SMALL)
    env.reset(seed=0)
    env._game._player.achievements["collect_wood"] = 1
    _, reward, _, _, info = env.step(0)
    assert reward == 1.0
    assert info["episode_extras"]["collect_wood"] == 1
    assert sorted(info["episode_extras"]) == sorted(ACHIEVEMENTS)


def test_options_and_console_fields_are_refused() -> None:
    for overrides in ({"options": {"size": 9}}, {"sticky_actions": 0.25}):
        with pytest.raises(UsageError, match="crafter"):
            resolve_env("crafter/Reward-v1", overrides=overrides)


NOTHING = dict.fromkeys(ACHIEVEMENTS, 0.0)


def test_there_are_22_achievements_and_they_are_crafters() -> None:
    assert list(ACHIEVEMENTS) == list(crafter.constants.achievements)
    assert len(ACHIEVEMENTS) == 22


def test_success_is_reaching_it_at_least_once_in_an_episode() -> None:
    rates = success_rates([NOTHING | {"eat_cow": 3.0}, NOTHING | {"eat_cow": 1.0, "wake_up": 1.0}, NOTHING, NOTHING])
    assert rates["eat_cow"] == 50.0
    assert rates["wake_up"] == 25.0
    assert sum(rates.values()) == 75.0


def test_the_score_is_the_geometric_mean_of_one_plus_the_percentages() -> None:
    assert crafter_score(NOTHING) == 0.0
    assert crafter_score(dict.fromkeys(ACHIEVEMENTS, 100.0)) == pytest.approx(100.0)
    one = NOTHING | {"eat_cow": 100.0}
    assert crafter_score(one) == pytest.approx(101 ** (1 / 22) - 1)
    assert crafter_score(one | {"wake_up": 50.0}) == pytest.approx((101 * 51) ** (1 / 22) - 1)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 100), min_size=22, max_size=22))
def test_the_score_lies_between_nothing_and_the_arithmetic_mean(values: list[float]) -> None:
    score = crafter_score(dict(zip(ACHIEVEMENTS, values, strict=True)))
    assert -1e-9 <= score <= math.fsum(values) / 22 + 1e-9


def test_episodes_without_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="no episodes"):
        success_rates([])
    with pytest.raises(ValueError, match="episode 1 has no count of collect_coal"):
        success_rates([NOTHING, {}])


def record(seed: int, episode: int, extras: dict[str, float]) -> EpisodeRecord:
    cell = Cell(agent="a", game="crafter/Reward-v1", seed=seed)
    return EpisodeRecord(
        cell=cell,
        episode=episode,
        env_seed=0,
        episode_return=0,
        length=1,
        terminated=True,
        truncated=False,
        extras=extras,
    )


def test_a_score_is_taken_of_each_seed_and_then_the_mean() -> None:
    all_of_it = dict.fromkeys(ACHIEVEMENTS, 1.0)
    result = scored("crafter/Reward-v1", [[record(0, 0, all_of_it)], [record(1, 0, NOTHING), record(1, 1, all_of_it)]])
    assert [seed["score"] for seed in result["seeds"]] == pytest.approx([100.0, 50.0])
    assert result["score"] == pytest.approx(75.0)
    assert result["score_std"] == pytest.approx(50 / math.sqrt(2))
    assert result["success_rates"]["eat_cow"] == 75.0


def test_episodes_that_were_not_counted_give_no_score() -> None:
    result = scored("crafter/Reward-v1", [[record(0, 0, {})], []])
    assert result["score"] is None
    assert result["seeds"] == []


@pytest.mark.usefixtures("_small")
def test_a_run_records_achievements_and_writes_the_score(tmp_path: Path) -> None:
    options = (
        "-g",
        "crafter/Reward-v1",
        "--seeds",
        "2",
        "-n",
        "2",
        "--env",
        "max_frames=60",
        "--out-dir",
        str(tmp_path),
    )
    code: Any = cli.main(["run", "-a", "random", *options], prog_name="wmbench", standalone_mode=False)
    assert code == 0
    episodes = RunDirectory.attach(tmp_path).episodes()
    extras = [[episode.extras for episode in of.values()] for of in episodes.values()]
    assert all(sorted(counts) == sorted(ACHIEVEMENTS) for seed in extras for counts in seed)
    (game,) = json.loads((tmp_path / "crafter_score.json").read_text())["games"]
    assert [seed["score"] for seed in game["seeds"]] == [crafter_score(success_rates(seed)) for seed in extras]
    assert f"**{game['score']:.2f} %**" in (tmp_path / "crafter_score.md").read_text()


def test_other_runs_get_no_score(tmp_path: Path) -> None:
    options = ("-g", "wm/Catch-v0", "-n", "1", "--out-dir", str(tmp_path))
    cli.main(["run", "-a", "random", *options], prog_name="wmbench", standalone_mode=False)
    assert not list(tmp_path.glob("crafter*"))
