"""Lanes: environments that step together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.envs.native_lanes import NativeLanes
from wm_core.envs.resolve import resolve_env
from wm_core.envs.serial_lanes import SerialLanes
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.errors import EnvironmentFailure, UsageError
from wm_core.specs import EnvSpec

SPEC = EnvSpec(requested="wmtest/Walk-v0", id="wmtest/Walk-v0", backend="wmtest")
SPACES: dict[str, Any] = {
    "box": Box(0, 1000, (2,), np.int64),
    "dict": Dict(at=Box(0, 1000, (), np.int64), seen=Box(0, 255, (2, 2), np.uint8)),
    "tuple": Tuple((Box(0, 1000, (1,), np.int64), Discrete(1000))),
}


class Walk(gymnasium.Env[Any, Any]):
    """Starts at seed % 7, ends after 3 + start steps; each step gives 1 + action."""

    action_space: Any = Discrete(3)

    def __init__(self, kind: str = "box", fault: str = "") -> None:
        self.observation_space, self.kind, self.fault = SPACES[kind], kind, fault
        self.stepped, self.closed, self.at = 0, False, 0

    def observe(self) -> Any:
        if self.kind == "dict":
            return {"at": np.int64(self.at), "seen": np.full((2, 2), self.at, np.uint8)}
        if self.kind == "tuple":
            return np.array([self.at]), self.at
        return np.full(2, self.at)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self.fault == "reset":
            raise OSError("no such level")
        self.at = (seed or 0) % 7
        self.left = 3 + self.at
        return self.observe(), {"start": self.at}

    def step(self, action: Any) -> Any:
        assert self.left > 0, "stepped after its end"
        self.stepped += 1
        self.at, self.left = self.at + 1, self.left - 1
        if self.fault and self.stepped == 2:
            if self.fault == "raise":
                raise OSError("the game\nwent away")
            if self.fault == "short":
                return self.observe(), 1.0
            if self.fault == "nan":
                return self.observe(), float("nan"), False, False, {}
            if self.fault == "shape":
                return np.zeros(5, np.int64), 1.0, False, False, {}
        return self.observe(), 1.0 + action, self.left == 0 and self.at % 2 == 0, self.left == 0, {"at": self.at}

    def render(self) -> Any:
        if self.fault == "render":
            return None
        return np.full((4, 4, 3), self.at, np.uint8)

    def close(self) -> None:
        self.closed = True


class WalkVector(VectorEnv[Any, Any, Any]):
    """A vector environment of its own kind, which starts lanes that have ended anew by itself."""

    def __init__(self, num_envs: int, kind: str = "box", fault: str = "") -> None:
        self.inner = SyncVectorEnv([lambda: Walk(kind, fault)] * num_envs)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = SPACES[kind], Walk.action_space
        self.observation_space = batch_space(SPACES[kind], num_envs)
        self.action_space = batch_space(Walk.action_space, num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        seeds: list[int | None] = [None] * self.num_envs
        for lane, lane_seed in zip(np.flatnonzero(options["reset_mask"]), seed, strict=True):
            seeds[lane] = int(lane_seed)
        return self.inner.reset(seed=seeds, options=options)  # type: ignore[arg-type]

    def step(self, actions: Any) -> Any:
        return self.inner.step(actions)

    def close(self, **kwargs: Any) -> None:
        self.inner.close()


def serial(lanes: int, kind: str = "box", fault: str = "") -> LaneEnvs:
    return SerialLanes(SPEC, lanes, lambda spec: Walk(kind, fault))


def native(lanes: int, kind: str = "box", fault: str = "") -> LaneEnvs:
    return NativeLanes(SPEC, WalkVector(lanes, kind, fault))


both = pytest.mark.parametrize("build", [serial, native])
Build = Callable[..., LaneEnvs]


def first_at(observations: Any) -> list[int]:
    """Where each lane is, in any observation space."""
    if isinstance(observations, dict):
        return observations["at"].tolist()
    if isinstance(observations, tuple):
        return np.asarray(observations[1]).ravel().tolist()
    return observations[:, 0].tolist()


@both
@pytest.mark.parametrize("kind", SPACES)
def test_lanes_play_and_ended_lanes_stay_put(build: Build, kind: str) -> None:
    envs = build(2, kind)
    observations, infos = envs.reset(seed=np.array([0, 1]))
    assert (first_at(observations), infos) == ([0, 1], [{"start": 0}, {"start": 1}])
    seen = [envs.step(np.array([0, 2])) for _ in range(6)]
    assert [first_at(s[0]) for s in seen] == [[1, 2], [2, 3], [3, 4], [3, 5], [3, 5], [3, 5]]
    assert [s[1].tolist() for s in seen] == [[1, 3]] * 3 + [[0, 3]] + [[0, 0]] * 2
    assert [s[2].tolist() for s in seen] == [[False, False]] * 6
    assert [s[3].tolist() for s in seen] == [[False] * 2] * 2 + [[True, False], [False, True]] + [[False] * 2] * 2
    assert seen[2][4] == [{"at": 3}, {"at": 4}]
    assert seen[3][4] == [{}, {"at": 5}]
    assert seen[5][4] == [{}, {}]


@both
@pytest.mark.parametrize("kind", SPACES)
def test_batches_are_of_the_batched_space(build: Build, kind: str) -> None:
    envs = build(3, kind)
    space = batch_space(envs.single_observation_space, 3)
    assert space.contains(envs.reset(seed=np.arange(3))[0])
    assert space.contains(envs.step(np.zeros(3, int))[0])


@both
def test_a_masked_reset_begins_those_lanes_alone(build: Build) -> None:
    envs = build(3)
    envs.reset(seed=np.array([0, 1, 2]))
    envs.step(np.zeros(3, int))
    mask = np.array([True, False, True])
    observations, infos = envs.reset(seed=np.array([5, 6]), options={"reset_mask": mask})
    assert first_at(observations) == [5, 2, 6]
    assert infos == [{"start": 5}, {}, {"start": 6}]
    assert mask.tolist() == [True, False, True]
    assert first_at(envs.step(np.zeros(3, int))[0]) == [6, 3, 7]


@both
def test_an_ended_lane_goes_on_after_its_reset(build: Build) -> None:
    envs = build(2)
    envs.reset(seed=np.array([0, 6]))
    for _ in range(5):
        envs.step(np.zeros(2, int))
    observations, _ = envs.reset(seed=np.array([2]), options={"reset_mask": np.array([True, False])})
    assert first_at(observations) == [2, 11]
    result = envs.step(np.zeros(2, int))
    assert (first_at(result[0]), result[1].tolist()) == ([3, 12], [1, 1])


@both
def test_a_reset_of_other_lanes_leaves_an_ended_lane_as_it_is(build: Build) -> None:
    envs = build(2)
    envs.reset(seed=np.array([0, 6]))
    for _ in range(5):
        envs.step(np.zeros(2, int))
    observations, _ = envs.reset(seed=np.array([1]), options={"reset_mask": np.array([False, True])})
    assert first_at(observations) == [3, 1]


@both
def test_lanes_that_were_never_reset_are_idle_and_blank(build: Build) -> None:
    envs = build(3)
    observations, infos = envs.reset(seed=np.array([4]), options={"reset_mask": np.array([False, True, False])})
    assert (first_at(observations), infos) == ([0, 4, 0], [{}, {"start": 4}, {}])
    result = envs.step(np.zeros(3, int))
    assert (first_at(result[0]), result[1].tolist(), result[4]) == ([0, 5, 0], [0, 1, 0], [{}, {"at": 5}, {}])
    observations, _ = envs.reset(seed=np.array([2, 3]), options={"reset_mask": np.array([True, False, True])})
    assert first_at(observations) == [2, 5, 3]


@both
@pytest.mark.parametrize("kind", ["box", "dict"])
def test_what_was_handed_out_does_not_change(build: Build, kind: str) -> None:
    envs = build(2, kind)
    handed = [envs.reset(seed=np.array([0, 1]))[0], *(envs.step(np.zeros(2, int))[0] for _ in range(6))]
    handed.append(envs.reset(seed=np.array([3, 4]))[0])
    assert [first_at(h) for h in handed] == [[0, 1], [1, 2], [2, 3], [3, 4], [3, 5], [3, 5], [3, 5], [3, 4]]


def test_an_ended_serial_lane_is_not_stepped() -> None:
    made: list[Walk] = []

    def make(spec: EnvSpec) -> Walk:
        made.append(Walk())
        return made[-1]

    envs = SerialLanes(SPEC, 2, make)
    envs.reset(seed=np.array([0, 6]))
    for _ in range(6):
        envs.step(np.zeros(2, int))
    assert [env.stepped for env in made] == [3, 6]
    envs.close()
    assert all(env.closed for env in made)


@both
def test_a_native_or_serial_lane_ignores_the_action_of_an_ended_lane(build: Build) -> None:
    envs = build(2)
    envs.reset(seed=np.array([0, 6]))
    for _ in range(3):
        envs.step(np.array([0, 0]))
    assert envs.step(np.array([2, 1]))[1].tolist() == [0, 2]


@settings(max_examples=25, deadline=None)
@given(lanes=st.integers(1, 6), lane=st.integers(0, 5), seed=st.integers(0, 2**62))
@pytest.mark.parametrize("build", [serial, native])
def test_an_episode_depends_on_its_seed_and_actions_alone(build: Build, lanes: int, lane: int, seed: int) -> None:
    def episode(lanes: int, lane: int) -> list[Any]:
        envs = build(lanes)
        seeds = np.arange(lanes, dtype=np.int64)
        seeds[lane] = seed
        envs.reset(seed=seeds)
        steps = [envs.step(np.ones(lanes, int)) for _ in range(10)]
        return [(first_at(s[0])[lane], s[1][lane], s[2][lane], s[3][lane], s[4][lane]) for s in steps]

    assert episode(lanes, lane % lanes) == episode(1, 0)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "wmtest/Walk-v0 in lane 0, step 2, raised: OSError: the game went away"),
        ("short", r"wmtest/Walk-v0 in lane 0, step 2, gave no step: step\(\) returned a tuple of length 2; expected"),
        ("nan", "wmtest/Walk-v0 in lane 0, step 2, gave no step: the reward is nan; expected a finite number"),
        ("shape", r"in lane 0, step 2, gave no step: the observation is an array of int64 and shape \(5,\); expected"),
    ],
)
def test_a_serial_environment_that_fails_is_named_with_lane_step_and_cause(fault: str, message: str) -> None:
    envs = serial(2, fault=fault)
    envs.reset(seed=np.array([0, 1]))
    envs.step(np.zeros(2, int))
    with pytest.raises(EnvironmentFailure, match=message) as error:
        envs.step(np.zeros(2, int))
    assert error.value.lane == 0
    assert "\n" not in str(error.value)


@both
def test_a_reset_that_fails_is_named_with_its_seed(build: Build) -> None:
    with pytest.raises(EnvironmentFailure, match=r"reset with seeds? \[?41\]?: OSError: no such level"):
        build(1, fault="reset").reset(seed=np.array([41]))


@pytest.mark.parametrize(
    ("fault", "message"), [("raise", "wmtest/Walk-v0 raised: OSError: the game went away"), ("nan", "lane 0, step 2")]
)
def test_a_native_environment_that_fails_is_named(fault: str, message: str) -> None:
    envs = native(2, fault=fault)
    envs.reset(seed=np.array([0, 1]))
    envs.step(np.zeros(2, int))
    with pytest.raises(EnvironmentFailure, match=message):
        envs.step(np.zeros(2, int))


def test_the_other_lanes_can_be_reset_and_played_after_a_failure() -> None:
    envs = serial(2, fault="raise")
    envs.reset(seed=np.array([0, 1]))
    envs.step(np.zeros(2, int))
    with pytest.raises(EnvironmentFailure):
        envs.step(np.zeros(2, int))
    observations, _ = envs.reset(seed=np.array([2, 3]))
    assert first_at(observations) == [2, 3]


@both
@pytest.mark.parametrize("seeds", [[1], [1, 2, 3], 5])
def test_seeds_and_mask_must_agree(build: Build, seeds: Any) -> None:
    with pytest.raises(ValueError, match="one seed a masked lane"):
        build(2).reset(seed=np.array(seeds))


def test_a_serial_lane_renders_and_what_renders_nothing_fails() -> None:
    envs = serial(2)
    envs.reset(seed=np.array([3, 4]))
    assert (envs.render(1) == 4).all()
    with pytest.raises(EnvironmentFailure, match="renders no RGB frame, but NoneType"):
        serial(1, fault="render").render(0)


def test_a_native_lane_renders_its_observation() -> None:
    for stack, channels in ((1, 3), (2, 1)):
        overrides = {
            "observation": "rgb" if channels == 3 else "gray",
            "frame_stack": stack,
            "image_size": (20, 16),
            "vectorization": "native",
        }
        with closing(make_vector(resolve_env("ALE/Pong-v5", overrides=overrides), 2)) as envs:
            observations, _ = envs.reset(seed=np.array([0, 1]))
            last = observations[1] if stack == 1 else observations[1, -1]
            shown = envs.render(1)
        assert shown.shape == (20, 16, 3)
        assert (shown == last).all()
    with pytest.raises(EnvironmentFailure, match="no pictures"):
        native(1).render(0)


def test_an_environment_that_cannot_be_made_is_named_and_closes_those_that_were() -> None:
    made: list[Walk] = []

    def make(spec: EnvSpec) -> Walk:
        if made:
            raise OSError("out of emulators")
        made.append(Walk())
        return made[-1]

    with pytest.raises(EnvironmentFailure, match="wmtest/Walk-v0 could not be made for lane 1: OSError: out of emul"):
        SerialLanes(SPEC, 2, make)
    assert made[0].closed


def test_make_vector_follows_the_specification() -> None:
    spec = resolve_env("ALE/Pong-v5", overrides={"image_size": (8, 8)})
    for vectorization, kind in (("native", NativeLanes), ("serial", SerialLanes)):
        with closing(make_vector(spec.model_copy(update={"vectorization": vectorization}), 1)) as envs:
            assert isinstance(envs, kind)
            assert envs.single_observation_space.shape == (8, 8, 3)


def test_make_vector_refuses_what_cannot_be() -> None:
    spec = resolve_env("wm/Catch-v0")
    with pytest.raises(UsageError, match="expected at least 1"):
        make_vector(spec, 0)
    with pytest.raises(UsageError, match="set vectorization=serial"):
        make_vector(spec.model_copy(update={"vectorization": "native"}), 1)
    with pytest.raises(UsageError, match="mode 77"):
        make_vector(resolve_env("ALE/Pong-v5", overrides={"options": {"mode": 77}}), 1)


def test_catch_and_cartpole_lanes_render_or_play() -> None:
    with closing(make_vector(resolve_env("wm/Catch-v0"), 3)) as envs:
        observations, _ = envs.reset(seed=np.arange(3))
        assert observations.shape == (3, 64, 64, 3)
        assert np.array_equal(envs.render(2), observations[2])
    with closing(make_vector(resolve_env("CartPole-v1"), 2)) as envs:
        envs.reset(seed=np.arange(2))
        assert envs.step(np.zeros(2, int))[0].shape == (2, 4)
