from __future__ import annotations

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError
from wm_env_bsuite.backend import BsuiteBackend
from wm_env_bsuite.experiments import EXPERIMENTS
from wm_env_bsuite.pictures import drawing, scale_of

BOARDS = ("catch", "catch_noise", "catch_scale", "deep_sea", "deep_sea_stochastic")
PLAYABLE = [name for name in EXPERIMENTS if not name.startswith("mnist")]


def made(game: str, **overrides: Any) -> gymnasium.Env[Any, Any]:
    env: gymnasium.Env[Any, Any] = BsuiteBackend().make(resolve_env(game, overrides=overrides))
    return env


@settings(deadline=None, max_examples=40)
@given(
    board=arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.sampled_from([0.0, 1.0])),
    extra=st.tuples(st.integers(0, 30), st.integers(0, 30)),
)
def test_the_cells_of_a_board_are_even_and_its_rest_a_border(board: np.ndarray, extra: tuple[int, int]) -> None:
    size = (board.shape[0] + extra[0], board.shape[1] + extra[1])
    picture = drawing("catch", board.shape, size)(board)
    height, width = size[0] // board.shape[0], size[1] // board.shape[1]
    assert picture.shape == (*size, 3)
    assert picture.dtype == np.uint8
    assert set(np.unique(picture)) <= {0, 255}
    assert (picture[:, :, 0] == 255).sum() == board.sum() * height * width
    top, left = (size[0] - height * board.shape[0]) // 2, (size[1] - width * board.shape[1]) // 2
    cells = picture[top : top + height * board.shape[0] : height, left : left + width * board.shape[1] : width, 0]
    assert (cells == 255 * board).all()


@settings(deadline=None, max_examples=40)
@given(
    vector=arrays(np.float32, (1, 6), elements=st.floats(-9, 9, width=32)),
    size=st.tuples(st.integers(2, 70), st.integers(6, 70)),
)
def test_a_bar_is_as_high_as_its_number_and_clipped(vector: np.ndarray, size: tuple[int, int]) -> None:
    picture = drawing("cartpole", (1, 6), size)(vector)
    low, high = scale_of("cartpole", 6)
    share = np.clip((vector[0] - low) / (high - low), 0, 1)
    width = size[1] // 6
    left = (size[1] - 6 * width) // 2
    for number in range(6):
        bar = picture[:, left + number * width : left + (number + 1) * width]
        lit = (bar > 0).all(axis=(1, 2))
        assert (lit == (bar > 0).any(axis=(1, 2))).all()
        assert lit.sum() == np.rint(share[number] * size[0])
        assert lit[size[0] - lit.sum() :].all()
    assert not picture[:, :left].any()
    assert not picture[:, left + 6 * width :].any()


@pytest.mark.parametrize("name", [name for name in PLAYABLE if name not in BOARDS])
@pytest.mark.parametrize("choose", [lambda n: 0, lambda n: n - 1, lambda n: None])
def test_only_the_speeds_of_cartpoles_leave_the_scale(name: str, choose: Any) -> None:
    game = f"{name}/{EXPERIMENTS[name].ids - 1}"
    with closing(made(game)) as env:
        size = int(np.prod(env.observation_space.shape))
        low, high = scale_of(name, size)
        env.action_space.seed(0)
        outside: set[int] = set()
        for seed in range(3):
            observation, over = env.reset(seed=seed)[0], False
            while not over:
                values = observation.ravel()
                outside |= set(np.flatnonzero((values < low - 2e-3) | (values > high + 2e-3)).tolist())
                action = choose(env.action_space.n)
                observation, _, over, _, _ = env.step(env.action_space.sample() if action is None else action)
    assert outside <= ({1, 4} if name.startswith("cartpole") else set())


def test_catch_shows_its_board() -> None:
    with closing(made("catch/0", observation="rgb", image_size=(20, 10))) as env:
        picture, _ = env.reset(seed=0)
    with closing(made("catch/0")) as env:
        board, _ = env.reset(seed=0)
    assert (picture[::2, ::2, 0] == board * 255).all()


def test_gray_pictures_have_one_channel() -> None:
    with closing(made("catch/0", observation="gray", image_size=(30, 30))) as env:
        assert env.reset(seed=0)[0].shape == env.observation_space.shape == (30, 30, 1)


def test_another_filter_resizes_a_picture_of_64_by_64() -> None:
    with closing(made("catch/0", observation="rgb", image_size=(32, 32), resize="cv2-area")) as env:
        assert env.reset(seed=0)[0].shape == (32, 32, 3)


@pytest.mark.parametrize(("game", "size"), [("deep_sea/20", (49, 64)), ("umbrella_distract/22", (64, 102))])
def test_a_picture_too_small_for_the_observation_is_refused(game: str, size: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=rf"image_size is .*; {game} needs at least"):
        made(game, observation="rgb", image_size=size)


def test_without_a_size_every_observation_fits() -> None:
    for name in PLAYABLE:
        with closing(made(f"{name}/{EXPERIMENTS[name].ids - 1}", observation="rgb")) as env:
            height, width, _ = env.reset(seed=0)[0].shape
            assert height >= 64
            assert width >= 64


def test_an_image_size_for_arrays_is_refused() -> None:
    with pytest.raises(UsageError, match="needs pictures"):
        made("catch/0", image_size=(64, 64))


def test_a_game_of_arrays_renders_for_films() -> None:
    with closing(made("cartpole/0")) as env:
        env.reset(seed=0)
        assert np.asarray(env.render()).shape == (64, 64, 3)
