"""Both libraries' ways, behind real older interpreters and gyms."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError
from wm_env_minecraft import make_minecraft_env
from wm_env_minecraft.actions import DEFAULT_ACTION_SET
from wm_env_minecraft.bridge import GameError, GameLost
from wm_env_minecraft.minecraft_env import MinecraftEnv

NAMES = list(DEFAULT_ACTION_SET)


def double(python: Path, task: str) -> MinecraftEnv:
    return MinecraftEnv("minerl", task, python=python, action_set=DEFAULT_ACTION_SET)


def ends_of(env: Any, action: int = 0, seed: int = 0) -> tuple[int, bool, bool]:
    """Length, terminated and truncated of an episode of one action."""
    env.reset(seed=seed)
    for step in range(1, 1000):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return step, terminated, truncated
    raise AssertionError("the episode does not end")


def test_a_task_of_minerl_in_one_line(minecraft_python: Path) -> None:
    with closing(make_minecraft_env("MineRLTreechop-v0")) as env:
        assert str(env.action_space) == "Discrete(13)"
        frame, _ = env.reset(seed=0)
        assert frame in env.observation_space
        assert frame.shape == (64, 64, 3)
        for action in range(13):
            frame, *_ = env.step(action)
            assert frame.dtype == np.uint8


def test_a_task_of_minedojo_in_one_line(one_python: Any) -> None:
    with closing(make_minecraft_env("harvest_milk", backend="minedojo", python=one_python.python)) as env:
        frame, info = env.reset(seed=0)
        assert frame.shape == (64, 64, 3)
        np.testing.assert_array_equal(frame[:, :, 1], np.random.RandomState(0).randint(0, 256, (3, 64, 64))[1])
        assert info["inventory"]["name"][:2] == ["buc", "air"]
        assert info["inventory"]["quantity"][0] == 1.0
        assert info["life_stats"]["life"].tolist() == [20.0]
        for action in range(13):
            _, reward, terminated, truncated, info = env.step(action)
            if terminated:
                break
        assert (NAMES[action], reward, truncated) == ("use", 1.0, False)
        assert info["said"] == ["moo"]


def test_minedojo_draws_at_the_size_that_is_asked_for(one_python: Any) -> None:
    with closing(make_minecraft_env("minedojo/creative:0", image_size=(32, 48), python=one_python.python)) as env:
        assert env.unwrapped.observation_space.shape == (32, 48, 3)


def test_pictures_of_minerl_are_resized_and_the_inventory_stays_in_info(one_python: Any) -> None:
    with closing(make_minecraft_env("MineRLObtainDiamondShovel-v0", python=one_python.python)) as env:
        frame, info = env.reset(seed=0)
        assert env.unwrapped.observation_space.shape == (360, 640, 3)
        assert frame.shape == (64, 64, 3)
        assert info["inventory"]["log"] == 0
        reward = 0.0
        while not reward:
            _, reward, _, _, info = env.step(NAMES.index("attack"))
        assert info["inventory"]["log"] == 1


def test_without_a_size_pictures_come_as_they_are(one_python: Any) -> None:
    with closing(make_minecraft_env("MineRLBasaltFindCave-v0", image_size=None, python=one_python.python)) as env:
        assert env.reset(seed=0)[0].shape == (360, 640, 3)


def test_an_action_set_of_ones_own(one_python: Any) -> None:
    chop = {"noop": {}, "craft_planks": {"craft": "planks"}, "chop": {"attack": 1}}
    with closing(make_minecraft_env("MineRLObtainDiamond-v0", action_set=chop, python=one_python.python)) as env:
        assert env.action_space.n == 3
        env.reset(seed=0)
        rewards = [env.step(action)[1] for action in [1] * 5 + [2] * 30]
        assert sum(rewards[:5]) == 0 < sum(rewards[5:])


def test_gyms_time_limit_truncates(each_python: Any) -> None:
    with closing(double(each_python.python, "MineRLDoubleLimit-v0")) as env:
        assert ends_of(env) == (5, False, True)


def test_the_games_own_clock_at_the_limit_truncates_too(one_python: Any) -> None:
    with closing(double(one_python.python, "MineRLDoubleClock-v0")) as env:
        assert ends_of(env) == (5, False, True)


def test_the_goal_before_the_limit_terminates(one_python: Any) -> None:
    with closing(double(one_python.python, "MineRLDoubleGoal-v0")) as env:
        length, terminated, truncated = ends_of(env, NAMES.index("attack"))
        assert length < 500
        assert (terminated, truncated) == (True, False)


def test_a_step_after_the_end_is_refused_here_and_never_sent(one_python: Any) -> None:
    with closing(double(one_python.python, "MineRLDoubleLimit-v0")) as env:
        ends_of(env)
        with pytest.raises(RuntimeError, match="reset"):
            env.step(0)
        assert env._bridge.alive
        assert ends_of(env) == (5, False, True)


def test_the_seed_comes_before_the_reset(one_python: Any) -> None:
    """MineRL forgets a seed at the reset that it served: handed over later, two episodes would differ."""
    with closing(double(one_python.python, "MineRLTreechop-v0")) as env:
        first, again, other = (env.reset(seed=seed)[0] for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        assert (env.reset()[0] != env.reset()[0]).any()


def test_minedojo_that_lost_its_game_is_an_error(one_python: Any) -> None:
    with closing(make_minecraft_env("minedojo/harvest_lost", python=one_python.python)) as env:
        env.reset(seed=0)
        for _ in range(2):
            env.step(0)
        with pytest.raises(GameLost, match="MineDojo lost its Minecraft"):
            env.step(0)


def test_a_task_that_minedojo_does_not_have_says_so(one_python: Any) -> None:
    with pytest.raises(GameError, match="Invalid task id provided harvest_moon"):
        make_minecraft_env("minedojo/harvest_moon", python=one_python.python)


def test_without_an_interpreter_it_is_said_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WM_MINECRAFT_PYTHON", raising=False)
    with pytest.raises(UsageError, match="set WM_MINECRAFT_PYTHON"):
        make_minecraft_env("MineRLTreechop-v0")
    with pytest.raises(UsageError, match="set WM_MINECRAFT_PYTHON"):
        resolve_env("MineRLTreechop-v0")


def test_an_interpreter_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_MINECRAFT_PYTHON", "/no/such/python")
    with pytest.raises(UsageError, match="no executable"):
        resolve_env("MineRLTreechop-v0")


def test_unknown_tasks_backends_and_options_are_refused(minecraft_python: Path) -> None:
    with pytest.raises(UsageError, match="did you mean MineRLTreechop-v0"):
        make_minecraft_env("MineRLTreechops-v0")
    with pytest.raises(UsageError, match="no Minecraft backend 'malmo'"):
        make_minecraft_env("harvest_milk", backend="malmo")
    with pytest.raises(UsageError, match="no task of MineDojo"):
        make_minecraft_env("milk", backend="minedojo")
    with pytest.raises(UsageError, match="no option frobnicate"):
        resolve_env("MineRLTreechop-v0", overrides={"options": {"frobnicate": 1}})
    with pytest.raises(UsageError, match="sticky_actions"):
        resolve_env("minedojo/harvest_milk", overrides={"sticky_actions": 0.25})


def test_the_ids_mean_their_own_time_limit(minecraft_python: Path) -> None:
    assert resolve_env("MineRLTreechop-v0").max_frames == 8000
    assert resolve_env("MineRLBasaltFindCave-v0").max_frames == 3600
    assert resolve_env("minerl/MineRLTreechop-v0").id == "MineRLTreechop-v0"
    assert resolve_env("minedojo/harvest_milk").max_frames == 3000
    assert resolve_env("harvest_milk", backend="minedojo").id == "minedojo/harvest_milk"
