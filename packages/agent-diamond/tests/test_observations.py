"""Observations of any image environment as frames."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_diamond.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_core.errors import UsageError


def space(shape: tuple[int, ...], dtype: type = np.uint8) -> gymnasium.Space:
    return gymnasium.spaces.Box(0, 255, shape, dtype)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=30)
@given(st.integers(8, 40), st.integers(8, 40), st.integers(0, 3), st.sampled_from([8, 16, 32]))
def test_any_layout_and_size_becomes_square_rgb(height: int, width: int, layout: int, size: int) -> None:
    shape = [(height, width), (height, width, 1), (height, width, 3), (3, height, width)][layout]
    observation = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    frame = ObservationFrames(space(shape), size)(observation)
    assert frame.shape == (size, size, 3)
    assert frame.dtype == np.uint8
    assert abs(float(frame.mean()) - float(observation.mean())) < 25


def test_a_frame_of_the_right_size_is_not_changed() -> None:
    observation = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    assert np.array_equal(ObservationFrames(space((16, 16, 3)), 16)(observation), observation)


def test_channels_first_and_last_give_the_same_frame() -> None:
    observation = np.random.default_rng(0).integers(0, 256, (20, 24, 3), np.uint8)
    last = ObservationFrames(space((20, 24, 3)), 16)(observation)
    first = ObservationFrames(space((3, 20, 24)), 16)(np.moveaxis(observation, -1, 0))
    assert np.array_equal(last, first)


def test_grey_is_repeated() -> None:
    observation = np.random.default_rng(0).integers(0, 256, (20, 20), np.uint8)
    frame = ObservationFrames(space((20, 20)), 16)(observation)
    assert np.array_equal(frame[..., 0], frame[..., 2])


def test_the_networks_get_channels_first() -> None:
    frames = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    assert np.array_equal(to_channels_first(frames).numpy(), np.moveaxis(frames, -1, 1))


@pytest.mark.parametrize("refused", [space((4,)), space((16, 16, 3), np.float32), space((16, 16, 5))])
def test_what_is_no_picture_is_refused(refused: gymnasium.Space) -> None:
    with pytest.raises(UsageError, match=r"images|observations"):
        ObservationFrames(refused, 16)


def test_discrete_actions_are_counted_from_their_first() -> None:
    assert discrete_actions(gymnasium.spaces.Discrete(4, start=3)) == (4, 3)


def test_other_actions_are_refused() -> None:
    with pytest.raises(UsageError, match="discretise"):
        discrete_actions(gymnasium.spaces.MultiBinary(3))
