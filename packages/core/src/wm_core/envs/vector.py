"""Lanes: `n` environments of one specification that step together, whatever backend they come from."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wm_core import registry
from wm_core.envs.steps import NotAStep
from wm_core.errors import EnvironmentFailure, UsageError, WMBenchError
from wm_core.protocols import RecordsLearning, VectorBackend
from wm_core.specs import EnvSpec

_log = logging.getLogger("wmbench")

StepResult = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], list[dict[str, Any]]]
"""Observations, rewards `(n,)`, terminated `(n,)`, truncated `(n,)`, and one info a lane."""


class LaneEnvs(ABC):
    """`num_envs` environments, each in a lane of its own. Nothing is reset unless asked for.

    A lane that has ended stays as it is until it is reset: `step` ignores its action and gives its last observation,
    a reward of 0, neither terminated nor truncated, and an empty info. Lanes that were never reset are like ended
    ones, with observations of zeros.

    Read what is handed out, and do not write to it; no later call changes it. An episode depends on its seed and its
    actions alone, not on the lane, the number of lanes, or what else is played.
    """

    def __init__(
        self,
        spec: EnvSpec,
        num_envs: int,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
    ) -> None:
        self.spec = spec
        self.num_envs = num_envs
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self._ended = np.ones(num_envs, np.bool_)
        self._steps = np.zeros(num_envs, np.int64)

    def reset(
        self, *, seed: NDArray[np.int64], options: dict[str, Any] | None = None
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Begin an episode in each lane of `options["reset_mask"]` (bool, shape `(n,)`), or in every lane.

        `seed` has one non-negative seed for each of those lanes, in order. Observations are of all lanes; infos of
        lanes that were not reset are empty. Raises `EnvironmentFailure` when an environment does.
        """
        mask = np.ones(self.num_envs, np.bool_) if options is None else np.asarray(options["reset_mask"], np.bool_)
        seed = np.asarray(seed)
        if mask.shape != (self.num_envs,) or seed.shape != (int(mask.sum()),):
            raise ValueError(
                f"got a mask of shape {mask.shape} with {int(mask.sum())} lanes and seeds of shape {seed.shape}; "
                f"expected a mask of shape ({self.num_envs},) and one seed a masked lane"
            )
        self._steps[mask] = 0
        return self._reset(mask, seed)

    @abstractmethod
    def _reset(self, mask: NDArray[np.bool_], seed: NDArray[np.int64]) -> tuple[Any, list[dict[str, Any]]]: ...

    @abstractmethod
    def step(self, actions: Any) -> StepResult:
        """One step of every lane that has not ended; `actions` is a batch of the action space.

        Raises `EnvironmentFailure`, with the lane where it is known, when an environment raises or returns
        something that is not a step. After that, reset all lanes before going on.
        """

    @abstractmethod
    def render(self, lane: int) -> NDArray[np.uint8]:
        """The lane's present picture, RGB `(H, W, 3)`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of all environments."""

    def _failure(self, lane: int | None, doing: str, error: BaseException) -> EnvironmentFailure:
        where = "" if lane is None else f" in lane {lane}, step {self._steps[lane]},"
        return EnvironmentFailure(f"{self.spec.id}{where} {doing}: {cause_of(error)}", lane)


def cause_of(error: BaseException) -> str:
    """An error on one line: its type, unless it speaks for itself, and its message."""
    message = " ".join(str(error).split())
    if isinstance(error, NotAStep):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def close_quietly(env: Any, name: str) -> None:
    """Close an environment; what it raises becomes a logged warning, since everything is measured by then."""
    try:
        env.close()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - somebody's environment must not cost a measurement
        _log.warning("%s could not be closed: %s", name, cause_of(error))


def make_vector(spec: EnvSpec, num_envs: int, *, recorded: bool = False) -> LaneEnvs:
    """Lanes as `spec.vectorization` says: in this thread, or in the backend's own vector environment.

    A log of a learning run (`wm_core.protocols.RecordsLearning`) that `spec` names is written only if `recorded`: say
    so of the one lane that an agent trains in, and not of those that it is evaluated in.

    Raises `UsageError` when the backend cannot do what is asked, `EnvironmentFailure` when making one fails, even by
    an exit.
    """
    from wm_core.envs.native_lanes import NativeLanes
    from wm_core.envs.serial_lanes import SerialLanes

    if num_envs < 1:
        raise UsageError(f"{num_envs} environments were asked for; expected at least 1")
    backend = registry.load_backend(spec.backend)
    if isinstance(backend, RecordsLearning) and not recorded:
        spec = backend.recorded(spec, None)
    native = isinstance(backend, VectorBackend) and backend.expresses(spec)
    if spec.vectorization == "native" and not native:
        raise UsageError(
            f"the '{spec.backend}' backend has no vector environment that does what {spec.id} is asked for; "
            "set vectorization=serial"
        )
    try:
        if spec.vectorization == "native":
            return NativeLanes(spec, backend.make_vec(spec, num_envs))
        return SerialLanes(spec, num_envs, backend.make)
    except (KeyboardInterrupt, WMBenchError):
        raise
    except BaseException as error:
        raise EnvironmentFailure(f"{spec.id} could not be made: {cause_of(error)}") from error
