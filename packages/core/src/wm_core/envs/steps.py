"""What `reset` and `step` of an environment must return (Gymnasium's API), and what counts as it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Tuple

Start = tuple[Any, dict[str, Any]]
Step = tuple[Any, float, bool, bool, dict[str, Any]]


class NotAStep(TypeError):
    """An environment returned something else. The message says what came and what is expected."""


def start_of(result: Any) -> Start:
    """Observation and info of a `reset`; `NotAStep` where `result` is not those two."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise NotAStep(f"reset() returned {_shown(result)}; expected (observation, info)")
    observation, info = result
    return observation, _info(info)


def step_of(result: Any) -> Step:
    """The five parts of a `step`, the reward as a float; `NotAStep` where one is of another type, or not finite.

    A reward is a real number, or an array of one. Ends are booleans: text like 'False' would be true.
    """
    if not isinstance(result, tuple | list) or len(result) != 5:
        raise NotAStep(f"step() returned {_shown(result)}; expected (observation, reward, terminated, truncated, info)")
    observation, reward, terminated, truncated, info = result
    if type(terminated) is not bool:
        terminated = _flag("terminated", terminated)
    if type(truncated) is not bool:
        truncated = _flag("truncated", truncated)
    return observation, _reward(reward), terminated, truncated, _info(info)


def steps_of(result: Any, lanes: int) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """The five parts of a vector environment's `step`: real rewards and boolean ends, each of shape `(lanes,)`."""
    if not isinstance(result, tuple | list) or len(result) != 5:
        raise NotAStep(
            f"step() returned {_shown(result)}; expected (observations, rewards, terminated, truncated, infos)"
        )
    observations, rewards, terminated, truncated, infos = result
    for name, values, kinds, kind in (
        ("rewards", rewards, "biuf", "real"),
        ("terminated", terminated, "b", "bool"),
        ("truncated", truncated, "b", "bool"),
    ):
        if not isinstance(values, np.ndarray) or values.shape != (lanes,) or values.dtype.kind not in kinds:
            raise NotAStep(f"{name} is {_shown(values)}; expected a {kind} array of shape ({lanes},)")
    return observations, rewards, terminated, truncated, _info(infos)


def observation_check(space: gymnasium.Space[Any]) -> Callable[[Any], None]:
    """A function that raises `NotAStep` for what cannot be an observation of `space`.

    Arrays are judged by shape and dtype (one that casts within its kind will do), not by their bounds: that costs
    less than a microsecond.
    """
    if isinstance(space, Box):
        return _box_check(space)
    if isinstance(space, Dict):
        return _dict_check(space)
    if isinstance(space, Tuple):
        return _tuple_check(space)

    def check(observation: Any) -> None:
        if not space.contains(observation):
            raise NotAStep(f"the observation is {_shown(observation)}; expected one of {space}")

    return check


def _box_check(space: Box) -> Callable[[Any], None]:
    shape, dtype = space.shape, space.dtype

    def check(observation: Any) -> None:
        if type(observation) is np.ndarray and observation.dtype == dtype and observation.shape == shape:
            return
        try:
            array = np.asarray(observation)
        except ValueError as error:
            raise NotAStep(f"the observation is {_shown(observation)}; expected {dtype} of shape {shape}") from error
        if array.shape != shape or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise NotAStep(f"the observation is {_shown(observation)}; expected {dtype} of shape {shape}")

    return check


def _dict_check(space: Dict) -> Callable[[Any], None]:
    checks = {key: observation_check(inner) for key, inner in space.spaces.items()}

    def check(observation: Any) -> None:
        if not isinstance(observation, Mapping) or observation.keys() != checks.keys():
            keys = ", ".join(map(str, checks))
            raise NotAStep(f"the observation is {_shown(observation)}; expected a dict with the keys {keys}")
        for key, inner in checks.items():
            inner(observation[key])

    return check


def _tuple_check(space: Tuple[Any]) -> Callable[[Any], None]:
    checks = [observation_check(inner) for inner in space.spaces]

    def check(observation: Any) -> None:
        if not isinstance(observation, tuple | list) or len(observation) != len(checks):
            raise NotAStep(f"the observation is {_shown(observation)}; expected a tuple of {len(checks)}")
        for inner, part in zip(checks, observation, strict=True):
            inner(part)

    return check


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise NotAStep(f"{name} is {_shown(value)}; expected a bool")


def _reward(value: Any) -> float:
    if not isinstance(value, int | float):
        array = np.asarray(value) if hasattr(value, "dtype") else None
        if array is None or array.size != 1 or array.dtype.kind not in "biuf":
            raise NotAStep(f"the reward is {_shown(value)}; expected a number")
        value = array.item()
    if not -np.inf < value < np.inf:
        raise NotAStep(f"the reward is {value}; expected a finite number")
    try:
        return float(value)
    except OverflowError as error:
        raise NotAStep("the reward is an integer too large for a float; expected a finite number") from error


def _info(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise NotAStep(f"info is {_shown(value)}; expected a dict")


def _shown(value: Any) -> str:
    """A value in a few words, whatever it is."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with the keys {', '.join(map(str, value)) or '(none)'}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of length {len(value)}"
    return "None" if value is None else f"{str(value)[:40]!r} of type {type(value).__name__}"
