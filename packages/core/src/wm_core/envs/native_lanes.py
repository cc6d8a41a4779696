"""Lanes in a backend's own vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, create_empty_array
from numpy.typing import NDArray

from wm_core.envs.steps import NotAStep, observation_check, start_of, steps_of
from wm_core.envs.vector import LaneEnvs, StepResult, close_quietly
from wm_core.errors import EnvironmentFailure
from wm_core.specs import EnvSpec


class NativeLanes(LaneEnvs):
    """The vector environment goes on stepping lanes that have ended; what it says of them is thrown away.

    It must hand out arrays of its own with every call. Its infos are arrays of length n by name.
    """

    def __init__(self, spec: EnvSpec, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        super().__init__(spec, envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._check = observation_check(batch_space(envs.single_observation_space, envs.num_envs))
        self._envs: Any = envs
        self._started = False
        self._observations: Any = create_empty_array(envs.single_observation_space, envs.num_envs)
        actions = envs.single_action_space
        self._idle_action = int(actions.start) if isinstance(actions, gymnasium.spaces.Discrete) else None

    def _reset(self, mask: NDArray[np.bool_], seed: NDArray[np.int64]) -> tuple[Any, list[dict[str, Any]]]:
        asked, seeds = mask, seed
        if not self._started:
            # The first reset of a vector environment is of all lanes; those not asked for stay idle.
            asked, seeds = np.ones_like(mask), np.zeros(self.num_envs, np.int64)
            seeds[mask] = seed
        try:
            observations, infos = start_of(self._envs.reset(seed=seeds, options={"reset_mask": asked.copy()}))
            self._check(observations)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failure(None, f"reset with seeds {seed.tolist()}", error) from error
        self._started = True
        self._ended &= ~mask
        self._observations = _held(observations, self._observations, self._ended)
        return self._observations, self._lane_infos(infos, mask)

    def step(self, actions: Any) -> StepResult:
        """One step of every lane that has not ended."""
        if not self._started:
            raise RuntimeError("nothing is played yet: reset() comes first")
        held = self._ended
        some_held = bool(held.any())
        playing = ~held
        if some_held and self._idle_action is not None:
            actions = np.where(held, self._idle_action, actions)
        self._steps += playing
        try:
            observations, rewards, terminated, truncated, infos = steps_of(self._envs.step(actions), self.num_envs)
            self._check(observations)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            doing = "gave no steps" if isinstance(error, NotAStep) else "raised"
            raise self._failure(None, doing, error) from error
        if some_held:
            observations = _held(observations, self._observations, held)
            rewards = np.where(held, 0.0, rewards)
            terminated, truncated = terminated & playing, truncated & playing
        finite = np.isfinite(rewards)
        if not finite.all():
            lane = int(np.argmin(finite))
            raise self._failure(lane, "gave no finite reward", ValueError(f"reward {rewards[lane]}"))
        self._observations = observations
        self._ended = held | terminated | truncated
        return observations, rewards, terminated, truncated, self._lane_infos(infos, playing)

    def render(self, lane: int) -> NDArray[np.uint8]:
        """The lane's observation as a picture: its last frame where frames are stacked."""
        frame = self._observations[lane] if isinstance(self._observations, np.ndarray) else None
        if frame is not None and self.spec.frame_stack > 1:
            frame = frame[-1]
        if frame is None or frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] not in (1, 3):
            raise EnvironmentFailure(f"observations of {self.spec.id} are no pictures; set vectorization=serial", lane)
        return np.broadcast_to(frame, (*frame.shape[:2], 3)).copy()

    def close(self) -> None:
        """Close the vector environment; a refusal costs a warning, and no measurement."""
        close_quietly(self._envs, self.spec.id)

    def _lane_infos(self, infos: Mapping[str, Any], wanted: NDArray[np.bool_]) -> list[dict[str, Any]]:
        """Gymnasium's infos, `name -> array` with a mask at `_name`, as one dictionary a lane."""
        lanes: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for name, values in infos.items():
            if name.startswith("_"):
                continue
            present = infos.get(f"_{name}")
            mask = wanted if present is None else wanted & present
            values = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values
            for lane, here in enumerate(mask.tolist()):
                if here:
                    lanes[lane][name] = values[lane]
        return lanes


def _held(new: Any, old: Any, held: NDArray[np.bool_]) -> Any:
    """`new`, with `old` written over its held lanes."""
    if isinstance(new, Mapping):
        return {key: _held(value, old[key], held) for key, value in new.items()}
    if isinstance(new, tuple):
        return tuple(_held(value, before, held) for value, before in zip(new, old, strict=True))
    new[held] = old[held]
    return new
