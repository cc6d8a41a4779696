"""Observations as synthetic RGB: boards with even cells, vectors as bars on a fixed scale, digits as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wm_core.envs.images import Frame

BOARDS = ("catch", "deep_sea")
"""Experiments whose observations are cells that are empty (0) or not (1)."""

_DEFAULT_SIZE = (64, 64)
_ANGLE = (-1.0, 1.0)
_SHARE = (0.0, 1.0)
_CART = ((-1.0, 1.0), (-4.0, 4.0), _ANGLE, _ANGLE)
"""Position in units of the track's half, its velocity, sine and cosine of the pole's angle."""

_SCALES: dict[str, tuple[tuple[float, float], ...]] = {
    "bandit": (_SHARE,),
    "mountain_car": ((-1.2, 0.6), (-0.07, 0.07), _SHARE),
    "cartpole": (*_CART, (-4.0, 4.0), _SHARE),
    "cartpole_swingup": (*_CART, (-10.0, 10.0), _SHARE, (-1.0, 1.0), (-1.0, 1.0)),
    "discounting_chain": ((-1.0, 4.0), _SHARE),
}
"""The smallest and the largest value of each number of an observation."""

Draw = Callable[[NDArray[np.float32]], Frame]


def scale_of(experiment: str, size: int) -> NDArray[np.float64]:
    """Smallest and largest value of each of an observation's `size` numbers, shape `(2, size)`.

    Only the speeds of the two cartpoles can leave their range; they are drawn clipped.
    """
    base = _base(experiment)
    if base.startswith("umbrella"):
        ranges: tuple[tuple[float, float], ...] = (_SHARE,) * size
    elif base.startswith("memory"):
        bits = size - 2
        ranges = (_SHARE, (0.0, max(1.0, bits - 1.0)), *((-1.0, 1.0),) * bits)
    else:
        ranges = _SCALES[base]
    return np.array(ranges, np.float64).T


def smallest_picture(experiment: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width in pixels below which an observation of that shape cannot be drawn."""
    if _is_flat(experiment):
        return 2, int(np.prod(shape))
    return shape[0], shape[1]


def default_size(experiment: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of a picture where none were asked for: 64 x 64, or larger where it must be."""
    height, width = smallest_picture(experiment, shape)
    return max(_DEFAULT_SIZE[0], height), max(_DEFAULT_SIZE[1], width)


def drawing(experiment: str, shape: tuple[int, ...], size: tuple[int, int]) -> Draw:
    """A function from an observation of that shape to RGB uint8 `(*size, 3)`.

    Boards and digits: every cell is `height // rows` by `width // columns` pixels, what is left is a black border.
    Vectors: one bar a number, all equally wide, rising from the bottom edge (its smallest value) to the top (its
    largest); see `scale_of`.
    """
    if _is_flat(experiment):
        return _bars(scale_of(experiment, int(np.prod(shape))), size)
    to_pixels = _digit if _base(experiment) == "mnist" else _board
    height, width = size[0] // shape[0], size[1] // shape[1]
    top, left = (size[0] - height * shape[0]) // 2, (size[1] - width * shape[1]) // 2
    inner = (slice(top, top + height * shape[0]), slice(left, left + width * shape[1]))

    def draw(observation: NDArray[np.float32]) -> Frame:
        picture = np.zeros((*size, 3), np.uint8)
        cells = to_pixels(observation).repeat(height, axis=0).repeat(width, axis=1)
        picture[inner] = cells[:, :, None]
        return picture

    return draw


def _bars(scale: NDArray[np.float64], size: tuple[int, int]) -> Draw:
    low, high = scale
    width = size[1] // len(low)
    left = (size[1] - width * len(low)) // 2
    levels = np.arange(size[0], 0, -1)[:, None]
    colours = np.array([(255, 255, 255), (170, 170, 170)], np.uint8)[np.arange(len(low)) % 2]

    def draw(observation: NDArray[np.float32]) -> Frame:
        share = (observation.ravel() - low) / (high - low)
        reached = np.rint(share.clip(0.0, 1.0) * size[0])
        bars = np.where((levels <= reached)[:, :, None], colours, np.uint8(0))
        picture = np.zeros((*size, 3), np.uint8)
        picture[:, left : left + width * len(low)] = bars.repeat(width, axis=1)
        return picture

    return draw


def _board(observation: NDArray[np.float32]) -> NDArray[np.uint8]:
    pixels: NDArray[np.uint8] = (observation * 255.0).astype(np.uint8)
    return pixels


def _digit(observation: NDArray[np.float32]) -> NDArray[np.uint8]:
    """bsuite reads pixels as signed bytes before it divides them by 255: what is above 127 comes out negative."""
    pixels: NDArray[np.uint8] = np.rint(observation * 255.0).astype(np.int16).astype(np.uint8)
    return pixels


def _is_flat(experiment: str) -> bool:
    return _base(experiment) not in (*BOARDS, "mnist")


def _base(experiment: str) -> str:
    """The experiment that a variant is made of; only `cartpole_swingup` has observations of its own."""
    for suffix in ("_noise", "_scale", "_stochastic"):
        experiment = experiment.removesuffix(suffix)
    return experiment
