"""The mean curve of several trainings, on the steps that all of them cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wm_core.metrics import aggregate, human_normalise
from wm_core.reporting.versus.model import Curve
from wm_core.specs import Interval

POINTS = 60


def mean_curve(curves: Sequence[Curve], statistic: str = "mean") -> tuple[NDArray[np.float64], list[Interval]]:
    """Agent steps, and the statistic over the curves at each; curves are of one game, or all normalised.

    Between its evaluations a curve is a straight line; the steps are those of all evaluations that lie in the range
    of every curve, at most `POINTS` of them. Empty where the curves do not overlap.
    """
    start = max(curve.env_steps[0] for curve in curves)
    end = min(curve.env_steps[-1] for curve in curves)
    grid = np.unique([step for curve in curves for step in curve.env_steps if start <= step <= end]).astype(float)
    if grid.size > POINTS:
        grid = np.linspace(start, end, POINTS)
    values = [np.interp(grid, curve.env_steps, curve.mean_return) for curve in curves]
    intervals = []
    for place in range(grid.size):
        runs: dict[str, list[float]] = {}
        for curve, value in zip(curves, values, strict=True):
            runs.setdefault(curve.game, []).append(float(value[place]))
        intervals.append(aggregate(runs)[statistic])
    return grid, intervals


def normalised(curve: Curve) -> Curve:
    """The curve on the human-normalised scale of its game."""
    return curve.model_copy(update={"mean_return": tuple(human_normalise(curve.game, curve.mean_return).tolist())})
