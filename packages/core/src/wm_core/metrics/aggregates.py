"""Mean, median, interquartile mean and optimality gap over games, with intervals.

Definitions and values are those of Agarwal et al. 2021 (arXiv:2108.13264) and their library, rliable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from wm_core.metrics.scores import Scores, finite, runs_by_game, summable
from wm_core.specs import Interval


def iqm_of_array(values: ArrayLike) -> float:
    """The interquartile mean of all values together: `int(0.25 n)` are cut from each end, the rest is averaged."""
    row = finite(values, "values").reshape(1, -1).copy()
    summable({"values": row})
    return float(_interquartile_means(row)[0])


def bootstrap_iqm_ci(
    values: ArrayLike, num_samples: int = NUM_SAMPLES, alpha: float = 0.05, seed: int = SEED
) -> tuple[float, float]:
    """Ends of the `1 - alpha` percentile-bootstrap interval of the interquartile mean.

    `values`: the runs of one game, shape `(runs,)`, or a matrix `(runs, games)`, resampled within each game. The
    default seed is 0: equal calls give equal intervals. Raises `ValueError` below two runs.
    """
    array = finite(values, "values")
    check_request(num_samples, 1 - alpha)
    runs = runs_by_game({"values": array} if array.ndim == 1 else array)
    summable(runs)
    reason = refusal(runs)
    if reason is not None:
        raise ValueError(f"no interval from {reason}")
    estimates = [_interquartile_means(_pooled(chunk)) for chunk in resamples(tables(runs), num_samples, seed)]
    lo, hi = np.quantile(np.concatenate(estimates), [alpha / 2, 1 - alpha / 2])
    return float(lo), float(hi)


def aggregate(
    scores: Scores, *, num_samples: int = NUM_SAMPLES, level: float = LEVEL, seed: int = SEED
) -> dict[str, Interval]:
    """The four aggregates over all games, by the names `mean`, `median`, `iqm` and `optimality_gap`.

    - `mean`, `median`: over the games' mean scores.
    - `iqm`: the mean of the middle half of all runs of all games, pooled; a game with more runs weighs more.
    - `optimality_gap`: `1 - mean(min(score, 1))`, capped run by run; each game weighs the same, whatever its
      number of runs. It means something on human-normalised scores only.

    Intervals are stratified percentile bootstraps of the given level, all four from one set of resamples. With a
    single run of any game the interval is refused and says so; with two runs it is given, and too narrow. Raises
    `ValueError` on scores that are empty, not finite, or too large to be summed up.
    """
    check_request(num_samples, level)
    runs = runs_by_game(scores)
    summable(runs)
    points = points_of(runs)
    reason = refusal(runs)
    if reason is not None:
        return {name: Interval(point=point, refused=reason) for name, point in points.items()}
    estimates = estimates_of(runs, num_samples, seed)
    return {name: percentile_interval(point, estimates[name], level) for name, point in points.items()}


def points_of(runs: Mapping[str, Floats]) -> dict[str, float]:
    """The four aggregates of the runs themselves."""
    return {name: float(value[0]) for name, value in _statistics([table[None] for table in tables(runs)]).items()}


def estimates_of(runs: Mapping[str, Floats], num_samples: int, seed: int) -> dict[str, Floats]:
    """The four aggregates of each resample, shape `(num_samples,)`."""
    chunks = [_statistics(chunk) for chunk in resamples(tables(runs), num_samples, seed)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _statistics(samples: Sequence[Floats]) -> dict[str, Floats]:
    """Each aggregate, shape `(resamples,)`, of tables `(resamples, runs, games)`."""
    game_means = np.concatenate([sample.mean(axis=1) for sample in samples], axis=1)
    capped_means = np.concatenate([np.minimum(sample, 1.0).mean(axis=1) for sample in samples], axis=1)
    return {
        "mean": game_means.mean(axis=1),
        "median": np.asarray(np.median(game_means, axis=1)),
        "iqm": _interquartile_means(_pooled(samples)),
        "optimality_gap": 1.0 - capped_means.mean(axis=1),
    }


def _pooled(samples: Sequence[Floats]) -> Floats:
    """All runs of all games of a resample in one row: shape `(resamples, values)`, a copy."""
    return np.concatenate([sample.reshape(len(sample), -1) for sample in samples], axis=1)


def _interquartile_means(rows: Floats) -> Floats:
    """The interquartile mean of each row. Reorders the rows in place."""
    values = rows.shape[1]
    cut = int(0.25 * values)
    if cut:
        rows.partition((cut, values - cut - 1), axis=1)
    return np.asarray(rows[:, cut : values - cut].mean(axis=1))
