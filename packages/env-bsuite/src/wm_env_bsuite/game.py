"""One bsuite environment as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from dm_env.specs import BoundedArray
from gymnasium.spaces import Box, Discrete

from wm_core.errors import UsageError
from wm_env_bsuite.experiments import experiment_of
from wm_env_bsuite.loading import loader
from wm_env_bsuite.pictures import Draw, default_size, drawing, smallest_picture

_LARGEST = frozenset({"best_episode"})
"""What bsuite keeps the largest of; all else it reports is a sum."""


class BsuiteGame(gymnasium.Env[Any, int]):
    """An environment by its id, such as 'catch/0'.

    Observations are bsuite's own arrays (float32, e.g. `(10, 5)` or `(1, 6)`), or, with `pictures`, RGB uint8
    `(*size, 3)`; `UsageError` for a size in which they cannot be drawn. Episodes terminate; bsuite truncates none, as
    its time limits are part of its problems.

    `reset(seed)` loads the environment anew with that seed, so an episode depends on nothing before it; `totals` go
    on counting. `reset()` goes on with the stream of random numbers, as a training with bsuite itself does.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(self, bsuite_id: str, *, pictures: bool = False, size: tuple[int, int] | None = None) -> None:
        self.bsuite_id = bsuite_id
        self.render_mode = "rgb_array"
        self._load = loader(bsuite_id)
        self._env = self._load(None)
        shown = self._env.observation_spec()
        self._experiment = experiment_of(bsuite_id)[0].name
        self._shape = shown.shape
        self._actions = self._env.action_spec().num_values
        self.action_space: Any = Discrete(self._actions)
        self._draw: Draw | None = None
        self.observation_space: Box
        if pictures:
            size = size or default_size(self._experiment, self._shape)
            self._draw = self._drawing(size)
            self.observation_space = Box(0, 255, (*size, 3), np.uint8)
        else:
            low, high = _bounds(shown)
            self.observation_space = Box(low, high, self._shape, shown.dtype.type)
        self._over = True
        self._raw: Any = None
        self.carried: dict[str, float] = {}
        """Totals of the environments loaded before the present one."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        if seed is not None:
            self.carried = self.totals()
            self._env = self._load(seed % 2**32)
        self._raw = self._env.reset().observation
        self._over = False
        return self._shown(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step; bsuite would begin a new episode by itself after the last, which is refused here."""
        if self._over:
            raise RuntimeError("the episode is over: reset() comes next")
        if not 0 <= action < self._actions:
            raise ValueError(f"action {action} is not in 0..{self._actions - 1}")
        timestep = self._env.step(int(action))
        self._raw = timestep.observation
        self._over = timestep.last()
        return self._shown(), timestep.reward, self._over, False, {}

    def render(self) -> Any:
        """The observation as a picture, in the size of the observation or at 64 x 64, or larger where it must be."""
        draw = self._draw or self._drawing(default_size(self._experiment, self._shape))
        return draw(self._raw)

    def totals(self) -> dict[str, float]:
        """`bsuite_info()` since this game was made, over all environments that it loaded."""
        return _together(self.carried, self._env.bsuite_info())

    def _drawing(self, size: tuple[int, int]) -> Draw:
        smallest = smallest_picture(self._experiment, self._shape)
        if size[0] < smallest[0] or size[1] < smallest[1]:
            raise UsageError(
                f"image_size is {size}; {self.bsuite_id} needs at least {smallest[0]} x {smallest[1]} pixels to show "
                f"its observations of shape {self._shape}"
            )
        return drawing(self._experiment, self._shape, size)

    def _shown(self) -> Any:
        return self._raw if self._draw is None else self._draw(self._raw)


def _together(before: dict[str, float], now: dict[str, Any]) -> dict[str, float]:
    return {
        name: max(before.get(name, 0.0), value) if name in _LARGEST else before.get(name, 0.0) + value
        for name, value in now.items()
    }


def _bounds(shown: Any) -> tuple[float, float]:
    """bsuite bounds the numbers of catch alone, all alike."""
    return (float(shown.minimum), float(shown.maximum)) if isinstance(shown, BoundedArray) else (-np.inf, np.inf)
