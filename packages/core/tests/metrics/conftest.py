"""Scores by formula, so that the reference values in these tests need no file."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from numpy.typing import NDArray


def uniform(name: str, *shape: int) -> NDArray[np.float64]:
    """Numbers in [-1, 1) that depend on the name and the place alone."""
    places = np.arange(1, math.prod(shape) + 1, dtype=np.float64)
    wave = np.sin(12.9898 * places + (zlib.crc32(name.encode()) % 10007)) * 43758.5453
    return (2 * (wave - np.floor(wave)) - 1).reshape(shape)


def score(name: str, runs: int, shift: float) -> NDArray[np.float64]:
    """Shape `(runs, 26)`, like human-normalised scores: skewed, a few below 0."""
    return np.exp(1.4 * uniform(name, runs, 26) + 0.8 * uniform(f"{name}.game", 1, 26)) - 0.4 + shift


@pytest.fixture
def alpha() -> NDArray[np.float64]:
    return score("alpha", 5, 0.0)


@pytest.fixture
def beta() -> NDArray[np.float64]:
    return score("beta", 8, 0.15)
