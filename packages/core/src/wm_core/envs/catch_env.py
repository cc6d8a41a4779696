"""Catch: the embedded environment, which needs no emulator, no download and no display.

The rules are bsuite's (Osband et al. 2020, arXiv:1908.03568): a ball falls one row a step from a random column of
the top row; the paddle in the bottom row moves left, stays, or moves right. The episode ends after nine steps, when
the ball reaches the bottom row, with a reward of +1 if the paddle is there and -1 if not. All other rewards are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.envs.images import Frame, resize
from wm_core.envs.unknown import UnknownGame
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

CATCH_ID = "wm/Catch-v0"
ROWS, COLUMNS = 10, 5


class Catch(gymnasium.Env[Frame, int]):
    """Observations: RGB uint8 `(*image_size, 3)`, white ball and paddle on black. Actions: 0 left, 1 stay, 2 right.

    The board is drawn by nearest neighbour: pixel (y, x) of an H x W image shows the cell in row
    `floor(y * 10 / H)` and column `floor(x * 5 / W)`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(self, image_size: tuple[int, int] = (64, 64), render_mode: str | None = None) -> None:
        if image_size[0] < ROWS or image_size[1] < COLUMNS:
            raise ValueError(f"image_size is {image_size}; the board has {ROWS} rows and {COLUMNS} columns")
        self.image_size = image_size
        self.render_mode = render_mode
        self.observation_space = Box(0, 255, (*image_size, 3), np.uint8)
        self.action_space: Any = Discrete(3)
        self._ball = (ROWS, 0)
        self._paddle = COLUMNS // 2

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """A ball in a random column, the paddle in the middle."""
        super().reset(seed=seed)
        self._ball = (0, int(self.np_random.integers(COLUMNS)))
        self._paddle = COLUMNS // 2
        return self._drawn(), {}

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        """The paddle moves, then the ball falls."""
        if self._ball[0] >= ROWS - 1:
            raise RuntimeError("the episode is over: reset() comes next")
        if not 0 <= action < 3:
            raise ValueError(f"action {action} is not in 0..2")
        self._paddle = min(max(self._paddle + int(action) - 1, 0), COLUMNS - 1)
        row, column = self._ball
        self._ball = (row + 1, column)
        ended = row + 1 == ROWS - 1
        reward = 0.0 if not ended else 1.0 if self._paddle == column else -1.0
        return self._drawn(), reward, ended, False, {}

    def render(self) -> Any:
        """The observation."""
        return self._drawn()

    def _drawn(self) -> Frame:
        board = np.zeros((ROWS, COLUMNS, 3), np.uint8)
        if self._ball[0] < ROWS:
            board[self._ball] = 255
        board[ROWS - 1, self._paddle] = 255
        return resize(board, self.image_size, "nearest")


if CATCH_ID not in gymnasium.registry:
    gymnasium.register(CATCH_ID, entry_point="wm_core.envs.catch_env:Catch")


class CatchBackend:
    """Serves `wm/Catch-v0`."""

    def ids(self) -> Sequence[str]:
        """The one id."""
        return [CATCH_ID]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """None: nobody has published one."""
        return {}

    def resolve(self, game: str) -> EnvSpec:
        """64 x 64 RGB by nearest neighbour."""
        if game != CATCH_ID:
            raise UnknownGame(f"the 'catch' backend serves '{CATCH_ID}', not '{game}'")
        return EnvSpec(
            requested=game, id=game, backend="catch", observation="rgb", image_size=(64, 64), resize="nearest"
        )

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for an image smaller than the board, or a field that means nothing here."""
        check_numbers(spec)
        check_unset(spec, (*EMULATOR_FIELDS, "options"))
        if spec.image_size is not None and (spec.image_size[0] < ROWS or spec.image_size[1] < COLUMNS):
            raise UsageError(f"image_size is {spec.image_size}; {CATCH_ID} has {ROWS} rows and {COLUMNS} columns")

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """The board is drawn at `image_size` by nearest neighbour, or at 10 x 5 and resized by another filter."""
        self.check(spec)
        drawn_at = spec.image_size if spec.image_size and spec.resize == "nearest" else (ROWS, COLUMNS)
        return preprocess(Catch(drawn_at), spec)
