"""The policy behind the agent 'random'."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from wm_core.adapter import PolicyAdapter

_CHUNK = 1024


class RandomPolicy(PolicyAdapter):
    """Uniform actions; each lane has a stream of its own, seeded at each episode's start."""

    _streams: list[_Stream] | None = None

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Restart the streams of the starting lanes."""
        if self._streams is None or len(self._streams) != len(starts):
            self._streams = [_stream(self.action_space) for _ in starts]
        for lane in np.flatnonzero(starts):
            self._streams[lane].seed(int(seeds[lane]))

    def act(self, observations: Any) -> Any:
        """One uniform action a lane."""
        assert self._streams is not None, "reset() comes before act()"
        actions = [stream.draw() for stream in self._streams]
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            return np.array(actions)
        batch: Any = create_empty_array(self.action_space, len(actions))
        return concatenate(self.action_space, actions, batch)


class _Stream:
    """Samples of any space."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.space = deepcopy(space)

    def seed(self, seed: int) -> None:
        self.space.seed(seed)

    def draw(self) -> Any:
        return self.space.sample()


class _DiscreteStream(_Stream):
    """Integers drawn a thousand at a time: a call of numpy's generator costs more than an emulator's frame."""

    space: gymnasium.spaces.Discrete

    def seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.left: list[int] = []

    def draw(self) -> int:
        if not self.left:
            first, count = int(self.space.start), int(self.space.n)
            self.left = self.rng.integers(first, first + count, size=_CHUNK).tolist()
        return self.left.pop()


def _stream(space: gymnasium.Space[Any]) -> _Stream:
    stream = _DiscreteStream(space) if isinstance(space, gymnasium.spaces.Discrete) else _Stream(space)
    stream.seed(0)
    return stream
