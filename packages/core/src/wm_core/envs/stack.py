"""Frame stacking."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray


class FrameStack(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The last `size` observations on a new leading axis, oldest first; before the first one are zeros.

    Zeros, rather than copies of the first frame, are what the original DQN and ALE's vector environment use.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], size: int) -> None:
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, Box), "only array observations can be stacked"
        low, high = (np.repeat(bound[None], size, axis=0) for bound in (space.low, space.high))
        self.observation_space = Box(np.minimum(low, 0), np.maximum(high, 0), dtype=space.dtype.type)
        self._frames: deque[NDArray[Any]] = deque(maxlen=size)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode with a stack of zeros and its first observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._frames.extend([np.zeros_like(observation)] * (self._frames.maxlen or 0))
        self._frames.append(observation)
        return np.stack(self._frames), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Push the new observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._frames.append(observation)
        return np.stack(self._frames), reward, terminated, truncated, info
