"""What a stranger's environment may do to lanes: exit, refuse to close, return what is not a step."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from wm_core import registry
from wm_core.envs.gymnasium_env import Preprocessed
from wm_core.envs.native_lanes import NativeLanes
from wm_core.envs.serial_lanes import SerialLanes
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.errors import EnvironmentFailure
from wm_core.specs import EnvManifest, EnvSpec

SPEC = EnvSpec(requested="wmtest/Odd-v0", id="wmtest/Odd-v0", backend="wmtest")
SOUND = (np.zeros(2, np.float32), 1.0, False, False, {})


class Quits(BaseException):
    """Neither an Exception nor an exit."""


class Odd(gymnasium.Env[Any, Any]):
    """Does in `method` what `act` does; sound otherwise."""

    observation_space: Any = Box(0, 1, (2,), np.float32)
    action_space: Any = Discrete(2)

    def __init__(self, method: str = "", act: Callable[[], Any] = lambda: None) -> None:
        self.method, self.act, self.closed = method, act, 0
        if method == "make":
            act()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.act() if self.method == "reset" else (SOUND[0], {})

    def step(self, action: Any) -> Any:
        return self.act() if self.method == "step" else SOUND

    def render(self) -> Any:
        return self.act()

    def close(self) -> None:
        self.closed += 1
        if self.method == "close":
            self.act()


class OddVector(VectorEnv[Any, Any, Any]):
    """Two lanes of the same kind."""

    num_envs = 2
    single_observation_space, single_action_space = Odd.observation_space, Odd.action_space
    observation_space, action_space = batch_space(single_observation_space, 2), batch_space(single_action_space, 2)

    def __init__(self, method: str, act: Callable[[], Any]) -> None:
        self.method, self.act = method, act

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.act() if self.method == "reset" else (np.zeros((2, 2), np.float32), {})

    def step(self, actions: Any) -> Any:
        return self.act() if self.method == "step" else sound_steps()

    def close(self, **kwargs: Any) -> None:
        if self.method == "close":
            self.act()


def sound_steps(**changes: Any) -> tuple[Any, ...]:
    parts = {
        "observations": np.zeros((2, 2), np.float32),
        "rewards": np.zeros(2),
        "terminated": np.zeros(2, bool),
        "truncated": np.zeros(2, bool),
        "infos": {},
    }
    return tuple({**parts, **changes}.values())


def raises(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


EXITS = pytest.mark.parametrize("error", [SystemExit(3), Quits("enough")], ids=["SystemExit", "BaseException"])


def play(envs: LaneEnvs) -> None:
    """A reset and a step."""
    envs.reset(seed=np.arange(envs.num_envs))
    envs.step(np.zeros(envs.num_envs, int))


def lanes_with(method: str, act: Callable[[], Any]) -> SerialLanes:
    """Three lanes, the second of which is odd."""
    made = iter([Odd(), Odd(method, act), Odd()])
    return SerialLanes(SPEC, 3, lambda spec: next(made))


@EXITS
@pytest.mark.parametrize("method", ["reset", "step"])
def test_an_environment_that_exits_is_a_failure_of_its_lane(method: str, error: BaseException) -> None:
    envs = lanes_with(method, raises(error))
    with pytest.raises(EnvironmentFailure, match=f"in lane 1, .*: {type(error).__name__}: {error}") as failure:
        play(envs)
    assert failure.value.lane == 1


@EXITS
def test_an_environment_that_exits_when_rendered_is_a_failure_of_its_lane(error: BaseException) -> None:
    with pytest.raises(EnvironmentFailure, match=r"in lane 1, .*did not render") as failure:
        lanes_with("render", raises(error)).render(1)
    assert failure.value.lane == 1


@EXITS
def test_an_environment_that_exits_when_made_is_a_failure_that_names_the_lane(error: BaseException) -> None:
    with pytest.raises(EnvironmentFailure, match=f"could not be made for lane 0: {type(error).__name__}: {error}"):
        SerialLanes(SPEC, 2, lambda spec: Odd("make", raises(error)))


def test_an_interrupt_is_not_an_environments_failure() -> None:
    envs = lanes_with("step", raises(KeyboardInterrupt()))
    envs.reset(seed=np.arange(3))
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.zeros(3, int))


@EXITS
def test_an_environment_that_does_not_close_costs_a_warning_and_the_others_are_closed(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    made = [Odd(), Odd("close", raises(error)), Odd()]
    waiting = iter(made)
    SerialLanes(SPEC, 3, lambda spec: next(waiting)).close()
    assert [env.closed for env in made] == [1, 1, 1]
    assert caplog.record_tuples == [
        ("wmbench", logging.WARNING, f"wmtest/Odd-v0 could not be closed: {type(error).__name__}: {error}")
    ]


@EXITS
@pytest.mark.parametrize("method", ["reset", "step"])
def test_a_vector_environment_that_exits_is_a_failure(method: str, error: BaseException) -> None:
    envs = NativeLanes(SPEC, OddVector(method, raises(error)))
    with pytest.raises(EnvironmentFailure, match=f"{type(error).__name__}: {error}"):
        play(envs)


def test_a_vector_environment_that_does_not_close_costs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    NativeLanes(SPEC, OddVector("close", raises(SystemExit(1)))).close()
    assert "wmtest/Odd-v0 could not be closed: SystemExit: 1" in caplog.text


class ExitsWhenVectorized:
    """A backend whose vector environment cannot be made."""

    def ids(self) -> list[str]:
        return [SPEC.id]

    def protocols(self) -> dict[str, Any]:
        return {}

    def resolve(self, game: str) -> EnvSpec:
        return SPEC

    def make(self, spec: EnvSpec) -> Any:
        raise SystemExit(1)

    def expresses(self, spec: EnvSpec) -> bool:
        return True

    def make_vec(self, spec: EnvSpec, num_envs: int) -> Any:
        raise SystemExit("no more licences")


@pytest.mark.usefixtures("plugins")
def test_a_vector_environment_that_exits_when_made_is_a_failure() -> None:
    backend = f"{__file__}:{ExitsWhenVectorized.__name__}"
    registry.register(EnvManifest(name="wmtest", backend=backend, patterns=("wmtest/*",)), "envs")
    with pytest.raises(EnvironmentFailure, match="wmtest/Odd-v0 could not be made: SystemExit: no more licences"):
        make_vector(SPEC.model_copy(update={"vectorization": "native"}), 2)


def step_with(**changes: Any) -> tuple[Any, ...]:
    parts = dict(zip(("observation", "reward", "terminated", "truncated", "info"), SOUND, strict=True))
    return tuple({**parts, **changes}.values())


WRONG_STEPS: list[tuple[Any, str]] = [
    (None, "step() returned None; expected (observation, reward, terminated, truncated, info)"),
    (SOUND[:4], "step() returned a tuple of length 4; expected"),
    (step_with(terminated="False"), "terminated is 'False' of type str; expected a bool"),
    (step_with(truncated=0), "truncated is '0' of type int; expected a bool"),
    (step_with(truncated=None), "truncated is None; expected a bool"),
    (step_with(reward="1.0"), "the reward is '1.0' of type str; expected a number"),
    (step_with(reward=None), "the reward is None; expected a number"),
    (step_with(reward=np.zeros(2)), "the reward is an array of float64 and shape (2,); expected a number"),
    (step_with(reward=np.array("1.0")), "the reward is an array of <U3 and shape (); expected a number"),
    (step_with(reward=float("inf")), "the reward is inf; expected a finite number"),
    (step_with(reward=10**400), "expected a finite number"),
    (step_with(info=None), "info is None; expected a dict"),
    (step_with(info=[]), "info is a list of length 0; expected a dict"),
    (step_with(observation=None), "the observation is None; expected float32 of shape (2,)"),
    (step_with(observation=np.zeros(3, np.float32)), "the observation is an array of float32 and shape (3,); expected"),
    (step_with(observation=np.array(["a", "b"])), "the observation is an array of <U1 and shape (2,); expected"),
    (step_with(observation=[[1.0], [1.0, 2.0]]), "the observation is a list of length 2; expected"),
    (step_with(observation={"a": 1}), "the observation is a dict with the keys a; expected"),
]


@pytest.mark.parametrize(("returned", "message"), WRONG_STEPS, ids=[message for _, message in WRONG_STEPS])
def test_what_is_no_step_is_a_failure_of_its_lane(returned: Any, message: str) -> None:
    envs = lanes_with("step", lambda: returned)
    envs.reset(seed=np.arange(3))
    with pytest.raises(EnvironmentFailure) as failure:
        envs.step(np.zeros(3, int))
    assert failure.value.lane == 1
    assert "wmtest/Odd-v0 in lane 1, step 1, gave no step: " in str(failure.value)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (SOUND[0], "reset() returned an array of float32 and shape (2,); expected (observation, info)"),
        ((SOUND[0], None), "info is None; expected a dict"),
        ((None, {}), "the observation is None; expected float32 of shape (2,)"),
    ],
)
def test_what_is_no_start_is_a_failure_of_its_lane(returned: Any, message: str) -> None:
    with pytest.raises(EnvironmentFailure) as failure:
        lanes_with("reset", lambda: returned).reset(seed=np.array([7, 8, 9]))
    assert failure.value.lane == 1
    assert "in lane 1, step 0, reset with seed 8: " in str(failure.value)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    "reward", [1, 1.0, True, np.float32(1), np.int8(1), np.array(1.0), np.array([1]), np.bool_(True)], ids=repr
)
def test_every_kind_of_real_number_is_a_reward(reward: Any) -> None:
    envs = lanes_with("step", lambda: step_with(reward=reward, terminated=np.bool_(True)))
    envs.reset(seed=np.arange(3))
    _, rewards, terminated, _, _ = envs.step(np.zeros(3, int))
    assert (rewards.tolist(), terminated.tolist()) == ([1.0, 1.0, 1.0], [False, True, False])


@pytest.mark.parametrize("observation", [np.zeros(2), np.zeros(2, np.float16), [0.0, 0.0]], ids=repr)
def test_an_observation_that_casts_within_its_kind_is_taken(observation: Any) -> None:
    envs = lanes_with("step", lambda: step_with(observation=observation))
    envs.reset(seed=np.arange(3))
    observations = envs.step(np.zeros(3, int))[0]
    assert (observations.dtype, observations.shape) == (np.float32, (3, 2))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (sound_steps(rewards=np.array(["1", "2"])), "rewards is an array of <U1 and shape (2,); expected a real array"),
        (sound_steps(rewards=np.zeros(3)), "rewards is an array of float64 and shape (3,)"),
        (sound_steps(terminated=["False", "False"]), "terminated is a list of length 2; expected a bool array"),
        (sound_steps(truncated=np.zeros(2, int)), "truncated is an array of int64 and shape (2,)"),
        (sound_steps(infos=None), "info is None; expected a dict"),
        (sound_steps(observations=np.zeros((2, 3), np.float32)), "expected float32 of shape (2, 2)"),
        (None, "step() returned None"),
    ],
)
def test_what_are_no_steps_of_a_vector_environment_is_a_failure(returned: Any, message: str) -> None:
    envs = NativeLanes(SPEC, OddVector("step", lambda: returned))
    envs.reset(seed=np.arange(2))
    with pytest.raises(EnvironmentFailure) as failure:
        envs.step(np.zeros(2, int))
    assert "wmtest/Odd-v0 gave no steps: " in str(failure.value)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terminated": "False"}, "terminated is 'False'"),
        ({"reward": "1.0"}, "the reward is '1.0'"),
        ({"info": None}, "info"),
    ],
)
def test_preprocessing_passes_no_wrong_step_off_as_a_right_one(changes: dict[str, Any], message: str) -> None:
    def make(spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        return Preprocessed(Odd("step", lambda: step_with(**changes)), spec)

    envs = SerialLanes(SPEC, 1, make)
    envs.reset(seed=np.arange(1))
    with pytest.raises(EnvironmentFailure, match=message) as failure:
        envs.step(np.zeros(1, int))
    assert failure.value.lane == 0
