"""Actions of an environment as the networks take them, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from wm_agent_dreamer.layouts import ActionLayout
from wm_core.errors import UsageError


class Actions(ABC):
    """A vector of the networks, shape `(A,)`, is one-hot for discrete actions, in [-1, 1] for continuous ones."""

    layout: ActionLayout

    @abstractmethod
    def to_env(self, action: NDArray[np.float32]) -> Any:
        """What the environment takes."""

    @abstractmethod
    def from_env(self, action: Any) -> NDArray[np.float32]:
        """The other way round."""

    @abstractmethod
    def stored(self, action: NDArray[np.float32]) -> NDArray[Any]:
        """As a replay stores it: a number, or the vector."""

    @abstractmethod
    def uniform(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """An action without regard to anything."""

    @abstractmethod
    def batch(self, actions: list[Any]) -> NDArray[Any]:
        """Actions of several environments as the core takes them."""


class DiscreteActions(Actions):
    """Of a `Discrete` space, which may count from another number than 0."""

    def __init__(self, space: Discrete) -> None:
        self.layout = ActionLayout(kind="discrete", size=int(space.n))
        self._first = int(space.start)

    def to_env(self, action: NDArray[np.float32]) -> int:
        """The number of the largest entry."""
        return self._first + int(action.argmax())

    def from_env(self, action: Any) -> NDArray[np.float32]:
        """A one-hot vector."""
        return self._one_hot(int(action) - self._first)

    def stored(self, action: NDArray[np.float32]) -> NDArray[Any]:
        """The number, counted from 0."""
        return np.asarray(action.argmax())

    def uniform(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """One of all."""
        return self._one_hot(int(rng.integers(self.layout.size)))

    def batch(self, actions: list[Any]) -> NDArray[Any]:
        """int64 `(n,)`."""
        return np.array(actions, np.int64)

    def _one_hot(self, number: int) -> NDArray[np.float32]:
        vector = np.zeros(self.layout.size, np.float32)
        vector[number] = 1.0
        return vector


class ContinuousActions(Actions):
    """Of a bounded `Box` of floats of any shape; [-1, 1] stands for its bounds."""

    def __init__(self, space: Box) -> None:
        unbounded = np.flatnonzero(~(np.isfinite(space.low) & np.isfinite(space.high)))
        if len(unbounded):
            raise UsageError(
                f"the action space {space} has no bounds in {len(unbounded)} of {space.low.size} dimensions, the first "
                f"of them number {unbounded[0]}, and Dreamer's actions are scaled from [-1, 1]; wrap it in "
                "gymnasium.wrappers.RescaleAction, or give it bounds"
            )
        self.layout = ActionLayout(kind="continuous", size=space.low.size)
        self._shape, self._dtype = space.shape, space.dtype
        self._low, self._high = space.low.astype(np.float64), space.high.astype(np.float64)

    def to_env(self, action: NDArray[np.float32]) -> NDArray[Any]:
        """Scaled to the bounds, and never beyond them."""
        share = (np.clip(action.reshape(self._shape).astype(np.float64), -1, 1) + 1) / 2
        scaled = (self._low + share * (self._high - self._low)).astype(self._dtype)
        return np.clip(scaled, self._low.astype(self._dtype), self._high.astype(self._dtype))

    def from_env(self, action: Any) -> NDArray[np.float32]:
        """Scaled to [-1, 1]; 0 where both bounds are one number."""
        width = self._high - self._low
        share = (np.asarray(action, np.float64) - self._low) / np.where(width > 0, width, 1.0)
        return np.where(width > 0, np.clip(2 * share - 1, -1, 1), 0.0).astype(np.float32).reshape(-1)

    def stored(self, action: NDArray[np.float32]) -> NDArray[Any]:
        """The vector."""
        return action

    def uniform(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Anywhere between the bounds."""
        return rng.uniform(-1.0, 1.0, self.layout.size).astype(np.float32)

    def batch(self, actions: list[Any]) -> NDArray[Any]:
        """`(n, *shape)`."""
        return np.stack(actions)


def actions_of(space: gymnasium.Space[Any]) -> Actions:
    """How to act in that space; `UsageError` where it is neither `Discrete` nor a bounded `Box` of floats."""
    if isinstance(space, Discrete):
        return DiscreteActions(space)
    if isinstance(space, Box) and np.issubdtype(space.dtype, np.floating) and space.low.size:
        return ContinuousActions(space)
    raise UsageError(
        f"Dreamer's actions are Discrete or a bounded Box of floats, and those here are {space}; "
        "wrap the environment so that they are"
    )
