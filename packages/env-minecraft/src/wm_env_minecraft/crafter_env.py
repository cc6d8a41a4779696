"""Crafter (Hafner 2021, arXiv:2109.06780) with Gymnasium's API, and episodes that a seed decides."""

from __future__ import annotations

from typing import Any

import crafter
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

Frame = NDArray[np.uint8]

SIZE = 64
"""Height and width of the picture in pixels."""
AREA = (64, 64)
"""Width and height of the published world, in cells."""


class _OrderedCrafter(crafter.Env):  # type: ignore[misc]  # untyped
    """Crafter keeps the creatures of a chunk in a set, whose order is that of their addresses in memory.

    When there are too many, one is drawn by its place in that order and removed: so equal seeds part at the first
    such draw, after tens or hundreds of steps. Here the order is the one in which they came into the world.
    """

    def _balance_chunk(self, chunk: Any, objs: Any) -> None:
        births = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda creature: births[tuple(creature.pos)]))


class Crafter(gymnasium.Env[Frame, int]):
    """Observations: RGB uint8 `(64, 64, 3)`. Actions: Crafter's 17.

    `reset(seed=s)` begins the first episode of `crafter.Env(seed=s)`; resets without a seed go on to the next ones.
    An episode terminates at death; the limit of 10,000 steps is the specification's. A reward is +1 for each
    achievement unlocked for the first time in the episode, and 0.1 for each point of health gained or lost; without
    `reward` it is 0. `info["episode_extras"]` counts how often each achievement was reached in the episode so far;
    `info` has the inventory, the semantic map and the player's position as Crafter gives them. A smaller `area` is
    another game, whose worlds are made faster.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(self, reward: bool = True, area: tuple[int, int] = AREA) -> None:
        self.render_mode = "rgb_array"
        self.observation_space = Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        self._game = _OrderedCrafter(area=area, size=(SIZE, SIZE), reward=reward, length=None, seed=0)
        self.action_space: Any = Discrete(len(self._game.action_names))
        self._seeded = self._over = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """A new world."""
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**31 - 1))
        if seed is not None:
            self._game._seed, self._game._episode = seed, 0
        self._seeded, self._over = True, False
        return self._game.reset(), {}

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        """One step."""
        if self._over or not self._seeded:
            raise RuntimeError("the episode is over: reset() comes next")
        observation, reward, _, info = self._game.step(int(action))
        self._over = info["discount"] == 0.0
        return observation, float(reward), self._over, False, {**info, "episode_extras": info["achievements"]}

    def render(self) -> Any:
        """What the player sees."""
        return self._game.render()
