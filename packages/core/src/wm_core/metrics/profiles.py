"""Performance profiles: which share of runs scores above a threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from wm_core.metrics.bootstrap import (
    LEVEL,
    NUM_SAMPLES,
    SEED,
    Floats,
    check_request,
    percentile_interval,
    refusal,
    resamples,
    tables,
)
from wm_core.metrics.scores import Scores, finite, runs_by_game
from wm_core.specs import Interval


def performance_profile(
    scores: Scores, taus: ArrayLike, *, num_samples: int = NUM_SAMPLES, level: float = LEVEL, seed: int = SEED
) -> list[Interval]:
    """The score distribution `P(score > tau)`, one interval for each of `taus`, in their order.

    The share of runs strictly above tau is taken in each game and averaged over games, as the run-score
    distributions of Agarwal et al. 2021; intervals hold for each tau alone, not for the curve as a whole. With a
    single run of any game they are refused. Raises `ValueError` on empty or non-finite scores or taus.
    """
    check_request(num_samples, level)
    thresholds = finite(taus, "taus").ravel()
    runs = runs_by_game(scores)
    strata = tables(runs)
    points = _shares_above([table[None] for table in strata], thresholds)[0].tolist()
    reason = refusal(runs)
    if reason is not None:
        return [Interval(point=point, refused=reason) for point in points]
    estimates = np.concatenate([_shares_above(chunk, thresholds) for chunk in resamples(strata, num_samples, seed)])
    return [percentile_interval(point, column, level) for point, column in zip(points, estimates.T, strict=True)]


def _shares_above(samples: Sequence[Floats], thresholds: Floats) -> Floats:
    """Shape `(resamples, thresholds)`, of tables `(resamples, runs, games)`."""
    games = sum(sample.shape[2] for sample in samples)
    shares = np.zeros((len(samples[0]), len(thresholds)))
    for sample in samples:
        flat = sample.reshape(len(sample), -1)
        for place, tau in enumerate(thresholds):
            shares[:, place] += np.count_nonzero(flat > tau, axis=1) / (sample.shape[1] * games)
    return shares
