"""Observation and action spaces of any environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Tuple
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.observations import Observations
from wm_core.errors import UsageError


def images(*shape: int) -> Box:
    return Box(0, 255, shape, np.uint8)


@settings(deadline=None, max_examples=30)
@given(st.integers(16, 40), st.integers(16, 40), st.integers(0, 5))
def test_any_layout_of_images_becomes_height_width_channels(height: int, width: int, layout: int) -> None:
    shape, channels = [
        ((height, width), 1),
        ((height, width, 3), 3),
        ((3, height, width), 3),
        ((4, height, width), 4),
        ((2, height, width, 3), 6),
        ((2, 3, height, width), 6),
    ][layout]
    observations = Observations(images(*shape))
    given_image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    frame = observations.store(given_image).frame
    assert observations.layout.image == (channels, height, width)
    assert frame is not None
    assert frame.shape == (height, width, channels)
    assert sorted(frame.flatten().tolist()) == sorted(given_image.flatten().tolist())


def test_channels_first_and_last_give_the_same_frame() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 24, 3), np.uint8)
    last = Observations(images(20, 24, 3)).store(image).frame
    first = Observations(images(3, 20, 24)).store(np.moveaxis(image, -1, 0)).frame
    assert np.array_equal(last, first)


def test_stacked_frames_become_channels_in_order() -> None:
    stack = np.random.default_rng(0).integers(0, 256, (2, 20, 24, 3), np.uint8)
    frame = Observations(images(2, 20, 24, 3)).store(stack).frame
    assert np.array_equal(frame[..., :3], stack[0])
    assert np.array_equal(frame[..., 3:], stack[1])


def test_networks_get_pixels_in_0_to_1_with_channels_first() -> None:
    image = np.random.default_rng(0).integers(0, 256, (16, 20, 3), np.uint8)
    batch = Observations(images(16, 20, 3)).batch([image])
    assert batch.image is not None
    assert np.allclose(batch.image[0].numpy(), np.moveaxis(image, -1, 0) / 255)


@pytest.mark.parametrize(
    ("space", "observation", "vector"),
    [
        (Box(-1, 1, (2, 2), np.float32), np.array([[0.5, -1], [0, 1]], np.float32), [0.5, -1, 0, 1]),
        (Box(-np.inf, np.inf, (2,), np.float64), np.array([3.0, -700.0]), [3, -700]),
        (Box(0, 255, (2,), np.uint8), np.array([51, 255], np.uint8), [0.2, 1]),
        (images(7, 7, 1), np.full((7, 7, 1), 255, np.uint8), [1.0] * 49),
        (Discrete(3, start=1), 2, [0, 1, 0]),
        (MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (MultiDiscrete([2, 3]), np.array([1, 0]), [0, 1, 1, 0, 0]),
        (Tuple((Discrete(2), Box(0, 1, (1,), np.float32))), (0, np.array([0.25], np.float32)), [1, 0, 0.25]),
    ],
)
def test_what_is_no_image_becomes_a_vector(space: gymnasium.Space[Any], observation: Any, vector: list[float]) -> None:
    observations = Observations(space)
    stored = observations.store(observation)
    assert stored.frame is None
    assert stored.vector is not None
    assert np.allclose(stored.vector, vector)
    assert observations.layout.vector == len(vector)


def test_a_dictionary_gives_an_image_and_a_vector() -> None:
    space = Dict({"camera": images(16, 16, 3), "depth": images(16, 16), "speed": Box(-9, 9, (2,)), "kind": Discrete(2)})
    observations = Observations(space)
    stored = observations.store(
        {
            "camera": np.full((16, 16, 3), 7, np.uint8),
            "depth": np.full((16, 16), 9, np.uint8),
            "speed": np.array([1.0, 2.0], np.float32),
            "kind": 1,
        }
    )
    assert (observations.layout.image, observations.layout.vector) == ((4, 16, 16), 4)
    assert stored.frame is not None
    assert stored.vector is not None
    assert stored.frame[0, 0].tolist() == [7, 7, 7, 9]
    assert sorted(stored.vector.tolist()) == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Box(0, 1, (64, 64, 3), np.float32), "takes uint8 images"),
        (Dict({"a": images(16, 16), "b": images(20, 20)}), "several sizes"),
        (Sequence(Discrete(2)), "no fixed size"),
    ],
)
def test_observations_that_cannot_be_seen_are_refused(space: gymnasium.Space[Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Observations(space)


def test_an_observation_outside_its_space_is_refused() -> None:
    with pytest.raises(UsageError, match="its space promises uint8"):
        Observations(images(16, 16, 3)).store(np.zeros((16, 16, 3), np.float32))


def test_discrete_actions_are_counted_from_their_first() -> None:
    actions = actions_of(Discrete(3, start=5))
    assert [actions.to_env(actions.from_env(action)) for action in (5, 6, 7)] == [5, 6, 7]
    assert actions.from_env(6).tolist() == [0, 1, 0]


@settings(deadline=None, max_examples=30)
@given(st.floats(-1, 1), st.floats(-1e3, 1e3), st.floats(0.1, 1e3))
def test_continuous_actions_are_scaled_to_the_bounds_and_back(action: float, low: float, width: float) -> None:
    space = Box(np.float32(low), np.float32(low + width), (1, 2), np.float32)
    actions = actions_of(space)
    vector = np.array([action, -1.0], np.float32)
    scaled = actions.to_env(vector)
    assert space.contains(scaled)
    assert scaled[0, 1] == space.low[0, 1]
    assert np.allclose(actions.from_env(scaled), vector, atol=1e-2)


def test_actions_beyond_minus_1_to_1_stay_within_the_bounds() -> None:
    assert actions_of(Box(-2, 2, (2,))).to_env(np.array([-7.0, 1.5], np.float32)).tolist() == [-2, 2]


@pytest.mark.parametrize(
    "space", [Box(-np.inf, 1, (2,)), Box(0, 9, (2,), np.int64), MultiBinary(3), MultiDiscrete([2, 3])]
)
def test_actions_that_cannot_be_taken_are_refused(space: gymnasium.Space[Any]) -> None:
    with pytest.raises(UsageError, match=r"no bounds in 2 of 2 dimensions|Dreamer's actions are Discrete or"):
        actions_of(space)
