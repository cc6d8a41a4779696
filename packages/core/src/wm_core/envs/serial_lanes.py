"""Lanes stepped one after the other in this thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from wm_core.envs.steps import NotAStep, observation_check, start_of, step_of
from wm_core.envs.vector import LaneEnvs, StepResult, cause_of, close_quietly
from wm_core.errors import EnvironmentFailure, WMBenchError
from wm_core.specs import EnvSpec


class SerialLanes(LaneEnvs):
    """One environment a lane; a lane that has ended is not stepped."""

    def __init__(self, spec: EnvSpec, num_envs: int, make: Callable[[EnvSpec], gymnasium.Env[Any, Any]]) -> None:
        self.spec = spec
        self._envs: list[gymnasium.Env[Any, Any]] = []
        try:
            for lane in range(num_envs):
                self._envs.append(self._made(make, lane))
            first = self._envs[0]
            super().__init__(spec, num_envs, first.observation_space, first.action_space)
            self._actions = batch_space(self.single_action_space, num_envs)
            self._check = observation_check(self.single_observation_space)
            blank: Any = create_empty_array(self.single_observation_space, 1)
            self._observations: list[Any] = [
                next(iter(iterate(batch_space(self.single_observation_space, 1), blank)))
            ] * num_envs
        except BaseException:
            self.close()
            raise

    def _made(self, make: Callable[[EnvSpec], gymnasium.Env[Any, Any]], lane: int) -> gymnasium.Env[Any, Any]:
        try:
            return make(self.spec)
        except (KeyboardInterrupt, WMBenchError):
            raise
        except BaseException as error:
            # No episode is to blame: without a lane the runner tries again with a single environment.
            raise EnvironmentFailure(f"{self.spec.id} could not be made for lane {lane}: {cause_of(error)}") from error

    def _reset(self, mask: NDArray[np.bool_], seed: NDArray[np.int64]) -> tuple[Any, list[dict[str, Any]]]:
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for lane, lane_seed in zip(np.flatnonzero(mask).tolist(), seed.tolist(), strict=True):
            self._ended[lane] = True
            try:
                observation, info = start_of(self._envs[lane].reset(seed=lane_seed))
                self._check(observation)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise self._failure(lane, f"reset with seed {lane_seed}", error) from error
            self._observations[lane], infos[lane] = observation, info
            self._ended[lane] = False
        return self._batch(), infos

    def step(self, actions: Any) -> StepResult:
        """One step of every lane that has not ended."""
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, np.bool_)
        truncated = np.zeros(self.num_envs, np.bool_)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for lane, action in enumerate(iterate(self._actions, actions)):
            if self._ended[lane]:
                continue
            self._steps[lane] += 1
            try:
                observation, reward, over, cut, info = step_of(self._envs[lane].step(action))
                self._check(observation)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._ended[lane] = True
                doing = "gave no step" if isinstance(error, NotAStep) else "raised"
                raise self._failure(lane, doing, error) from error
            rewards[lane], terminated[lane], truncated[lane] = reward, over, cut
            self._observations[lane], infos[lane] = observation, info
            self._ended[lane] = over or cut
        return self._batch(), rewards, terminated, truncated, infos

    def render(self, lane: int) -> NDArray[np.uint8]:
        """What the lane's environment renders."""
        try:
            frame: Any = self._envs[lane].render()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failure(lane, "did not render", error) from error
        if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3:
            raise EnvironmentFailure(f"{self.spec.id} renders no RGB frame, but {type(frame).__name__}", lane)
        return frame.astype(np.uint8, copy=False)

    def close(self) -> None:
        """Close every environment; one that refuses costs a warning, and no measurement."""
        while self._envs:
            close_quietly(self._envs.pop(), self.spec.id)

    def _batch(self) -> Any:
        try:
            empty: Any = create_empty_array(self.single_observation_space, self.num_envs)
            return concatenate(self.single_observation_space, self._observations, empty)
        except Exception as error:
            raise self._failure(None, f"gave observations outside {self.single_observation_space}", error) from error
