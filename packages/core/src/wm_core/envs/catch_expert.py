"""The scripted optimal player of Catch, which sees nothing but the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm_core.envs.catch_env import COLUMNS, ROWS


def catch_action(observation: NDArray[np.uint8]) -> int:
    """0 left, 1 stay or 2 right: towards the ball's column. Followed from the start, it always catches.

    `observation` is `(H, W, C)`, at least 10 x 5 pixels. A picture of an ended episode gives 1.
    """
    height, width = observation.shape[:2]
    board = observation[_middles(height, ROWS)][:, _middles(width, COLUMNS)].max(axis=-1) > 127
    above = np.flatnonzero(board[:-1].any(axis=0))
    paddle = np.flatnonzero(board[-1])
    if len(above) != 1 or len(paddle) != 1:
        return 1
    return int(np.sign(above[0] - paddle[0])) + 1


def _middles(pixels: int, cells: int) -> NDArray[np.intp]:
    """A pixel in the middle of each cell, cells being laid out as in `Catch`."""
    edges = -(-np.arange(cells + 1) * pixels // cells)
    return (edges[:-1] + edges[1:] - 1) // 2
