"""Human-normalised scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm_core.metrics.baselines import baseline
from wm_core.metrics.scores import Scores, finite, runs_by_game

_ROUNDING = 1e-9


def human_normalise(game: str, scores: ArrayLike) -> NDArray[np.float64]:
    """`(score - random) / (human - random)`, in the shape of `scores`: 0 is a random player, 1 a human.

    Raises `UsageError` for a game without baselines, `ValueError` for empty or non-finite scores.
    """
    reference = baseline(game)
    raw = finite(scores, f"scores of {game!r}")
    return np.asarray((raw - reference.random) / (reference.human - reference.random))


def superhuman_count(scores: Scores) -> int:
    """The number of games whose mean human-normalised score is at least 1.

    A mean that equals the human score up to rounding (1e-9) counts: normalised Pong at 14.6 is a human's Pong.
    """
    return sum(bool(runs.mean() >= 1.0 - _ROUNDING) for runs in runs_by_game(scores).values())
