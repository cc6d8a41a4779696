"""Policy x vector environment -> episodes: fixed shares, own seeds, the same for any number of lanes."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.errors import AgentFailure
from wm_core.protocols import AdapterContext
from wm_core.random_policy import RandomPolicy
from wm_core.rollout import PlayedEpisode, action_check, rollout
from wm_core.seeds import episode_seeds


def play(game: str, lanes: int, episodes: Any, seed: int = 0, **overrides: Any) -> dict[int, tuple[float, int, int]]:
    spec = resolve_env(game, overrides=overrides)
    with closing(make_vector(spec, lanes)) as envs:
        played = list(rollout(policy(envs), envs, seed, episodes))
    return {p.episode: (p.episode_return, p.length, p.env_seed) for p in played}


def policy(envs: Any) -> RandomPolicy:
    spaces = {"observation_space": envs.single_observation_space, "action_space": envs.single_action_space}
    return RandomPolicy(AdapterContext(env=resolve_env("wm/Catch-v0"), **spaces))


def test_every_episode_asked_for_is_played_once() -> None:
    assert sorted(play("wm/Catch-v0", 3, range(10))) == list(range(10))


@settings(max_examples=12, deadline=None)
@given(lanes=st.integers(1, 9), seed=st.integers(0, 2**40))
def test_episodes_are_the_same_for_any_number_of_lanes(lanes: int, seed: int) -> None:
    assert play("wm/Catch-v0", lanes, range(7), seed) == play("wm/Catch-v0", 1, range(7), seed)


def test_episodes_played_later_are_the_same_as_in_one_go() -> None:
    whole = play("wm/Catch-v0", 4, range(12))
    assert {
        **play("wm/Catch-v0", 4, [0, 3, 7]),
        **play("wm/Catch-v0", 4, sorted(set(range(12)) - {0, 3, 7})),
    } == whole


def test_a_real_atari_game_is_the_same_for_any_number_of_lanes() -> None:
    short = {"max_frames": 200}
    one, three = play("ALE/Pong-v5", 1, range(4), **short), play("ALE/Pong-v5", 3, range(4), **short)
    assert one == three
    assert len({episode[2] for episode in one.values()}) == 4


def test_seed_zero_is_a_seed() -> None:
    assert play("wm/Catch-v0", 2, range(5), 0) == play("wm/Catch-v0", 2, range(5), 0)
    assert play("wm/Catch-v0", 2, range(5), 0) != play("wm/Catch-v0", 2, range(5), 1)


def test_seeds_of_episodes_differ_and_fit_an_emulator() -> None:
    seeds = [episode_seeds(seed, episode) for seed in range(20) for episode in range(50)]
    assert len({s.env for s in seeds} | {s.policy for s in seeds}) == 2000
    assert max(max(s) for s in seeds) < 2**31 - 1


def test_each_lane_plays_its_fixed_share() -> None:
    spec = resolve_env("wm/Catch-v0")
    lanes_of: list[int] = []

    class Watching(RandomPolicy):
        def reset(self, starts: Any, seeds: Any) -> None:
            lanes_of.extend(np.flatnonzero(starts))
            super().reset(starts, seeds)

    with closing(make_vector(spec, 3)) as envs:
        context = AdapterContext(
            env=spec, observation_space=envs.single_observation_space, action_space=envs.single_action_space
        )
        list(rollout(Watching(context), envs, 0, range(8)))
    assert [lanes_of.count(lane) for lane in range(3)] == [3, 3, 2]


def test_a_time_limit_is_a_truncation_and_not_a_termination() -> None:
    spec = resolve_env("CartPole-v1", overrides={"max_frames": 3})
    with closing(make_vector(spec, 2)) as envs:
        played = list(rollout(policy(envs), envs, 0, range(4)))
    assert [(p.terminated, p.truncated, p.length) for p in played] == [(False, True, 3)] * 4


class ConstantPolicy:
    def __init__(self, actions: Any) -> None:
        self.actions = actions

    def reset(self, starts: Any, seeds: Any) -> None:
        return None

    def act(self, observations: Any) -> Any:
        return self.actions


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.array([0, 1, 7]), "the action 7"),
        (np.array([0, 1]), r"shape \(2,\)"),
        (np.array([0.0, 1.0, 2.0]), "float64"),
        ("left", "expected 3 integers"),
        (None, "NoneType"),
    ],
)
def test_what_is_not_a_batch_of_actions_is_refused(actions: Any, message: str) -> None:
    with (
        closing(make_vector(resolve_env("wm/Catch-v0"), 3)) as envs,
        pytest.raises(AgentFailure, match=message),
    ):
        list(rollout(ConstantPolicy(actions), envs, 0, range(3)))


def test_continuous_actions_are_kept_within_their_bounds() -> None:
    space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    check = action_check(space, 1)
    assert check(np.array([[0.5, 1.0 + 1e-8]])).dtype == np.float32
    with pytest.raises(AgentFailure, match="clip its actions"):
        check(np.array([[0.5, 1.1]]))
    with pytest.raises(AgentFailure, match="NaN"):
        check(np.array([[0.5, np.nan]]))


def test_a_policy_that_raises_is_named_with_its_method() -> None:
    class Breaks(ConstantPolicy):
        def act(self, observations: Any) -> Any:
            raise KeyError("x")

    with (
        closing(make_vector(resolve_env("wm/Catch-v0"), 1)) as envs,
        pytest.raises(AgentFailure, match=r"act\(\).*Key"),
    ):
        list(rollout(Breaks(None), envs, 0, [0]))


def test_nothing_to_play_is_nothing_played() -> None:
    with closing(make_vector(resolve_env("wm/Catch-v0"), 2)) as envs:
        played: list[PlayedEpisode] = list(rollout(policy(envs), envs, 0, []))
    assert played == []
