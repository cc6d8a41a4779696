"""ALE's own vector environment does exactly what the serial one does, where the backend says so."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from wm_core.envs.atari import AtariBackend
from wm_core.envs.atari_native import AtariLanes
from wm_core.envs.games import ATARI_100K
from wm_core.envs.vector import make_vector

BACKEND = AtariBackend()


def pair(spec: Any, lanes: int) -> tuple[Any, Any]:
    assert BACKEND.expresses(spec)
    ways = (spec.model_copy(update={"vectorization": way}) for way in ("native", "serial"))
    native, serial = (make_vector(way, lanes) for way in ways)
    assert native.single_observation_space == serial.single_observation_space
    assert native.single_action_space == serial.single_action_space
    return native, serial


EXPRESSED: list[tuple[str, dict[str, Any]]] = [
    ("ALE/Breakout-v5", {}),
    ("ALE/MsPacman-v5", {"image_size": (64, 64), "max_pool": "before_resize", "clip_rewards": True}),
    ("BreakoutNoFrameskip-v4", {"image_size": (84, 84), "observation": "gray", "max_pool": "before_resize"}),
    ("BreakoutNoFrameskip-v4", {"frame_skip": 3, "frame_stack": 4, "observation": "gray", "max_pool": "after_resize"}),
    ("PongNoFrameskip-v0", {"image_size": (96, 32), "max_pool": "before_resize", "full_action_space": True}),
    ("ALE/Breakout-v5", {"image_size": (32, 32), "fire_on_reset": True, "frame_skip": 2}),
    ("BreakoutNoFrameskip-v4", {"image_size": (32, 32), "fire_on_reset": True, "frame_skip": 4}),
    ("ALE/Freeway-v5", {"image_size": (32, 32), "fire_on_reset": True, "full_action_space": True}),
    ("ALE/Freeway-v5", {"resize": "nearest", "fire_on_reset": True}),
]


@pytest.mark.parametrize(("game", "fields"), EXPRESSED)
def test_native_and_serial_episodes_are_equal_bit_for_bit(game: str, fields: dict[str, Any], atari: Any) -> None:
    spec = atari(game, **fields)
    native, serial = pair(spec.model_copy(update={"max_frames": 60 * spec.frame_skip - 1}), 1)
    rng = np.random.default_rng(0)
    with closing(native), closing(serial):
        ours, theirs = (envs.reset(seed=np.array([3])) for envs in (native, serial))
        assert np.array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
        for _ in range(60):
            actions = rng.integers(native.single_action_space.n, size=1)
            a, b = native.step(actions), serial.step(actions)
            assert (a[1:4], a[4]) == (b[1:4], b[4])
            if b[2][0] or b[3][0]:
                break
            assert np.array_equal(a[0], b[0])
    assert b[3][0]


@pytest.mark.parametrize("protocol", ["atari-sticky", "diamond"])
def test_a_whole_game_ends_at_the_same_step_both_ways(protocol: str, atari: Any) -> None:
    native, serial = pair(atari("ALE/Breakout-v5", protocol, noop_max=0, image_size=(16, 16)), 1)
    rng = np.random.default_rng(0)
    with closing(native), closing(serial):
        native.reset(seed=np.array([0]))
        serial.reset(seed=np.array([0]))
        while True:
            actions = rng.integers(4, size=1)
            a, b = native.step(actions), serial.step(actions)
            assert (a[1:4], a[4]) == (b[1:4], b[4])
            if b[2][0]:
                break
    assert b[4][0]["lives"] == 0


def test_at_the_end_of_an_episode_the_native_picture_is_the_one_before(atari: Any) -> None:
    native, serial = pair(atari("ALE/Breakout-v5", sticky_actions=0.0), 1)
    rng = np.random.default_rng(0)
    with closing(native), closing(serial):
        before, _ = native.reset(seed=np.array([0]))
        serial.reset(seed=np.array([0]))
        while True:
            actions = rng.integers(4, size=1)
            last, _, terminated, _, _ = native.step(actions)
            drawn = serial.step(actions)[0]
            if terminated[0]:
                break
            before = last
    assert np.array_equal(last, before)
    assert not np.array_equal(last, drawn)


@pytest.mark.parametrize(
    "fields",
    [
        {"frame_skip": (2, 5)},
        {"life_loss_ends_episode": True},
        {"options": {"mode": 1}},
        {"image_size": (64, 64), "resize": "pil-bilinear"},
        {"image_size": (64, 64), "resize": "nearest"},
        {"image_size": (64, 64), "max_pool": "after_resize"},
    ],
)
def test_what_the_native_environment_cannot_do_is_not_claimed(fields: dict[str, Any], atari: Any) -> None:
    assert not BACKEND.expresses(atari("ALE/Pong-v5", **fields))


@pytest.mark.parametrize(
    ("protocol", "expressed"),
    [("atari100k", True), ("atari-sticky", True), ("diamond", True), ("dreamerv2", True), ("iris", False)],
)
def test_protocols_that_it_can_do(protocol: str, expressed: bool, atari: Any) -> None:
    assert BACKEND.expresses(atari("ALE/Pong-v5", protocol)) is expressed


@pytest.mark.parametrize("game", ATARI_100K)
def test_every_game_of_atari_100k_plays_the_same_both_ways(game: str, atari: Any) -> None:
    native, serial = pair(atari(f"ALE/{game}-v5", image_size=(64, 64), max_pool="before_resize"), 1)
    with closing(native), closing(serial):
        assert np.array_equal(native.reset(seed=np.array([1]))[0], serial.reset(seed=np.array([1]))[0])
        for action in (0, 1, 2, 2, 1):
            a, b = native.step(np.array([action])), serial.step(np.array([action]))
            assert np.array_equal(a[0], b[0])
            assert a[1] == b[1]


def drawn_noops(spec: Any, lanes: int) -> Any:
    with closing(AtariLanes(spec, lanes)) as envs:
        _, infos = envs.reset(seed=np.arange(lanes))
        assert not infos["frames"].any()
        return envs._start_frames - spec.fire_on_reset


@pytest.mark.parametrize("fire", [False, True])
def test_native_no_op_starts_are_one_to_noop_max_frames(fire: bool, atari: Any) -> None:
    assert set(drawn_noops(atari("ALE/Breakout-v5", noop_max=2, fire_on_reset=fire), 3)) == {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("fire", [False, True])
def test_native_no_op_starts_are_all_equally_likely(fire: bool, atari: Any) -> None:
    counts = np.bincount(drawn_noops(atari("ALE/Breakout-v5", noop_max=3, fire_on_reset=fire), 90), minlength=4)
    assert counts[0] == 0
    assert abs(counts[1:] - 30).max() < 4 * np.sqrt(90 * 2 / 9)


def test_native_no_op_frames_are_not_counted_against_the_time_limit(atari: Any) -> None:
    spec = atari("ALE/Pong-v5", noop_max=30, max_frames=8, vectorization="native")
    with closing(make_vector(spec, 2)) as envs:
        envs.reset(seed=np.array([0, 1]))
        seen = [envs.step(np.zeros(2, int)) for _ in range(2)]
    assert [s[3].tolist() for s in seen] == [[False, False], [True, True]]
    assert [[info["frames"] for info in s[4]] for s in seen] == [[4, 4], [8, 8]]


@pytest.mark.parametrize("vectorization", ["native", "serial"])
def test_an_episode_is_the_same_for_any_number_of_lanes(vectorization: str, atari: Any) -> None:
    spec = atari("ALE/Pong-v5", noop_max=1, image_size=(16, 16), max_frames=200, vectorization=vectorization)

    def episode(lanes: int, lane: int) -> Any:
        with closing(make_vector(spec, lanes)) as envs:
            seeds = np.arange(100, 100 + lanes)
            seeds[lane] = 5
            observations, _ = envs.reset(seed=seeds)
            seen = [observations[lane]]
            for t in range(50):
                actions = np.random.default_rng(lanes).integers(6, size=lanes)
                actions[lane] = t % 6
                observations, _, _, truncated, _ = envs.step(actions)
                seen.append(observations[lane])
                if t < 49:
                    assert not truncated[lane]
        return np.array(seen[:-1])

    assert np.array_equal(episode(1, 0), episode(3, 2))


def test_a_masked_reset_after_an_end_resets_once(atari: Any) -> None:
    spec = atari("ALE/Breakout-v5", max_frames=40, image_size=(32, 32), sticky_actions=0.25, vectorization="native")
    with closing(make_vector(spec, 2)) as envs, closing(make_vector(spec, 1)) as fresh:
        envs.reset(seed=np.array([1, 2]))
        for _ in range(5):
            envs.step(np.array([2, 3]))
        envs.reset(seed=np.array([3]), options={"reset_mask": np.array([True, False])})
        for _ in range(5):
            _, _, _, truncated, _ = envs.step(np.array([2, 3]))
        assert truncated.tolist() == [False, True]
        begun, infos = envs.reset(seed=np.array([9]), options={"reset_mask": np.array([False, True])})
        alone, _ = fresh.reset(seed=np.array([9]))
        assert infos == [{}, {"lives": 5, "frames": 0}]
        assert np.array_equal(begun[1], alone[0])
        for action in (1, 2, 3):
            a, b = envs.step(np.array([2, action])), fresh.step(np.array([action]))
            assert np.array_equal(a[0][1], b[0][0])
            assert a[4][1] == b[4][0]
        assert a[4][0]["frames"] == 32


@pytest.mark.parametrize("action", [-1, 4])
def test_an_action_outside_the_space_raises_and_does_not_hang(action: int, atari: Any) -> None:
    with closing(AtariLanes(atari("ALE/Breakout-v5"), 2)) as envs:
        envs.reset(seed=np.array([0, 1]))
        with pytest.raises(ValueError, match=f"{action}.* are not all in 0..3"):
            envs.step(np.array([0, action]))
