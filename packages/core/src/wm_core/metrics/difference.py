"""By how much one algorithm's aggregates exceed another's."""

from __future__ import annotations

from wm_core.metrics.aggregates import estimates_of, points_of
from wm_core.metrics.bootstrap import LEVEL, NUM_SAMPLES, SEED, check_request, either_refusal, percentile_interval
from wm_core.metrics.scores import Scores, runs_by_game, same_games, summable
from wm_core.specs import Interval


def difference(
    x: Scores, y: Scores, *, num_samples: int = NUM_SAMPLES, level: float = LEVEL, seed: int = SEED
) -> dict[str, Interval]:
    """`aggregate(x) - aggregate(y)`, by the names `mean`, `median`, `iqm` and `optimality_gap`.

    Both must hold the same games; their numbers of runs may differ. The two are resampled independently, stratified
    by game. The interval is refused where either has a single run of a game. Raises `ValueError` on empty or
    non-finite scores, or where the games differ.
    """
    check_request(num_samples, level)
    runs_x, runs_y = runs_by_game(x), runs_by_game(y)
    same_games(runs_x, runs_y)
    for runs in (runs_x, runs_y):
        summable(runs)
    of_x, of_y = points_of(runs_x), points_of(runs_y)
    points = {name: of_x[name] - of_y[name] for name in of_x}
    reason = either_refusal(runs_x, runs_y)
    if reason is not None:
        return {name: Interval(point=point, refused=reason) for name, point in points.items()}
    drawn_x, drawn_y = estimates_of(runs_x, num_samples, 2 * seed), estimates_of(runs_y, num_samples, 2 * seed + 1)
    return {name: percentile_interval(point, drawn_x[name] - drawn_y[name], level) for name, point in points.items()}
