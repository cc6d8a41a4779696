"""Catch, and its expert."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.envs.catch_env import Catch, CatchBackend
from wm_core.envs.catch_expert import catch_action
from wm_core.errors import UsageError

SIZES = st.tuples(st.integers(10, 90), st.integers(5, 90))


def play(env: Any, seed: int, choose: Any) -> tuple[list[float], Any]:
    observation, _ = env.reset(seed=seed)
    rewards: list[float] = []
    while True:
        observation, reward, terminated, truncated, _ = env.step(choose(observation))
        rewards.append(reward)
        assert not truncated
        if terminated:
            return rewards, observation


def test_it_is_a_gymnasium_environment() -> None:
    check_env(gymnasium.make("wm/Catch-v0").unwrapped, skip_render_check=True)


def test_an_episode_is_nine_steps_with_a_reward_at_its_end() -> None:
    rewards, _ = play(Catch(), 0, lambda _: 1)
    assert rewards[:8] == [0.0] * 8
    assert len(rewards) == 9
    assert rewards[8] in (-1.0, 1.0)


def test_the_board_is_drawn_in_white_with_the_paddle_in_the_middle() -> None:
    observation, _ = Catch((10, 5)).reset(seed=0)
    assert np.argwhere(observation[:, :, 0]).tolist() == [[0, int(observation[0, :, 0].argmax())], [9, 2]]
    assert set(np.unique(observation)) == {0, 255}


def test_the_ball_falls_one_row_a_step_and_stays_in_its_column() -> None:
    env = Catch((10, 5))
    observation, _ = env.reset(seed=3)
    column = observation[0, :, 0].argmax()
    for row in range(1, 9):
        observation, *_ = env.step(1)
        assert observation[:9, :, 0].nonzero() == (row, column)


def test_actions_move_the_paddle_and_walls_stop_it() -> None:
    env = Catch((10, 5))
    env.reset(seed=0)
    seen = [int(env.step(action)[0][9, :, 0].argmax()) for action in (0, 0, 0, 1, 2)]
    assert seen == [1, 0, 0, 0, 1]


def test_columns_are_seeded_and_all_occur() -> None:
    env = Catch((10, 5))
    columns = [int(env.reset(seed=seed)[0][0, :, 0].argmax()) for seed in range(200)]
    assert columns == [int(env.reset(seed=seed)[0][0, :, 0].argmax()) for seed in range(200)]
    assert min(np.bincount(columns, minlength=5)) > 20


def test_random_play_has_a_mean_of_about_minus_0_6() -> None:
    rng = np.random.default_rng(0)
    env = Catch((10, 5))
    returns = [sum(play(env, seed, lambda _: rng.integers(3))[0]) for seed in range(400)]
    assert np.mean(returns) == pytest.approx(-0.6, abs=0.12)


@settings(max_examples=40, deadline=None)
@given(size=SIZES, seed=st.integers(0, 2**31))
def test_the_expert_always_catches_whatever_the_size(size: tuple[int, int], seed: int) -> None:
    rewards, last = play(Catch(size), seed, catch_action)
    assert sum(rewards) == 1.0
    assert catch_action(last) == 1


@pytest.mark.parametrize("filter_", ["nearest", "cv2-area", "cv2-bilinear", "pil-bilinear"])
def test_the_expert_sees_through_every_filter(filter_: str) -> None:
    spec = CatchBackend().resolve("wm/Catch-v0").model_copy(update={"image_size": (48, 40), "resize": filter_})
    env = CatchBackend().make(spec)
    assert [sum(play(env, seed, catch_action)[0]) for seed in range(10)] == [1.0] * 10


def test_the_backend_draws_at_the_size_of_the_specification() -> None:
    backend = CatchBackend()
    default = backend.make(backend.resolve("wm/Catch-v0"))
    assert default.observation_space.shape == (64, 64, 3)
    gray = backend.resolve("wm/Catch-v0").model_copy(update={"observation": "gray", "image_size": (20, 10)})
    observation, _ = backend.make(gray).reset(seed=0)
    assert observation.shape == (20, 10, 1)
    assert observation.max() == 255


@settings(max_examples=10, deadline=None)
@given(size=SIZES)
def test_every_cell_is_drawn_where_the_rule_says(size: tuple[int, int]) -> None:
    height, width = size
    observation, _ = Catch(size).reset(seed=5)
    board, _ = Catch((10, 5)).reset(seed=5)
    rows, columns = np.arange(height) * 10 // height, np.arange(width) * 5 // width
    assert np.array_equal(observation, board[rows][:, columns])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image_size": (9, 64)}, "10 rows"),
        ({"sticky_actions": 0.25}, "sticky_actions=0.25 means nothing"),
        ({"noop_max": 30}, "noop_max=30"),
        ({"options": {"rows": 3}}, "options="),
        ({"frame_skip": 0}, "frame_skip is 0"),
    ],
)
def test_what_means_nothing_here_is_refused(fields: dict[str, Any], message: str) -> None:
    spec = CatchBackend().resolve("wm/Catch-v0").model_copy(update=fields)
    with pytest.raises(UsageError, match=message):
        CatchBackend().make(spec)


def test_stepping_after_the_end_or_with_no_such_action_raises() -> None:
    env = Catch()
    with pytest.raises(RuntimeError, match="reset"):
        env.step(1)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action 3"):
        env.step(3)
