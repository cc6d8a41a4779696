"""The probability that one algorithm beats another on a game, averaged over games."""

from __future__ import annotations

import numpy as np

from wm_core.metrics.bootstrap import (
    LEVEL,
    NUM_SAMPLES,
    SEED,
    Floats,
    check_request,
    chunks,
    either_refusal,
    percentile_interval,
)
from wm_core.metrics.scores import Scores, runs_by_game, same_games
from wm_core.specs import Interval


def probability_of_improvement(
    x: Scores, y: Scores, *, num_samples: int = NUM_SAMPLES, level: float = LEVEL, seed: int = SEED
) -> Interval:
    """`P(X > Y)`: the share of pairs of runs (one of x, one of y) that x wins, a tie counting one half.

    The share is taken in each game and averaged over games. Both must hold the same games; their numbers of runs
    may differ. The interval resamples the runs of both, and is refused where either has a single run of a game.
    Raises `ValueError` on empty or non-finite scores, or where the games differ.
    """
    check_request(num_samples, level)
    runs_x, runs_y = runs_by_game(x), runs_by_game(y)
    same_games(runs_x, runs_y)
    pairs = sorted(
        ((runs_x[game], runs_y[game]) for game in runs_x), key=lambda pair: (pair[0].tolist(), pair[1].tolist())
    )
    wins = [_wins(*pair) for pair in pairs]
    point = float(np.mean([table.mean() for table in wins]))
    reason = either_refusal(runs_x, runs_y)
    if reason is not None:
        return Interval(point=point, refused=reason)
    rng = np.random.default_rng(seed)
    estimates = np.mean([_resampled_share(table, num_samples, rng) for table in wins], axis=0)
    return percentile_interval(point, estimates, level)


def _wins(x: Floats, y: Floats) -> Floats:
    """Shape `(runs of x, runs of y)`: 1 where x wins, 0.5 at a tie, 0 where it loses."""
    return np.asarray(0.5 + 0.5 * np.sign(x[:, None] - y[None, :]))


def _resampled_share(wins: Floats, num_samples: int, rng: np.random.Generator) -> Floats:
    """The share won in each resample: a resample only changes how often each run counts."""
    shares = [
        ((_counts(wins.shape[0], rows, rng) @ wins) * _counts(wins.shape[1], rows, rng)).sum(axis=1)
        for rows in chunks(num_samples, sum(wins.shape))
    ]
    return np.concatenate(shares) / wins.size


def _counts(runs: int, rows: int, rng: np.random.Generator) -> Floats:
    """How often each run is drawn, shape `(rows, runs)`; every row sums to `runs`."""
    drawn = rng.integers(runs, size=(rows, runs)) + runs * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * runs).reshape(rows, runs).astype(np.float64)
