"""The stratified percentile bootstrap: each game's runs are resampled among themselves, at their own number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from wm_core.specs import Interval

Floats = NDArray[np.float64]

NUM_SAMPLES = 2000
LEVEL = 0.95
SEED = 0
CHUNK_VALUES = 200_000
"""Values drawn at a time: keeps the working set in the processor's cache. Part of what a seed means."""


def tables(runs: Mapping[str, Floats]) -> list[Floats]:
    """Games of equally many runs side by side: arrays of shape `(runs, games)`, one for each number of runs.

    The order depends on the scores alone, so a seed gives one interval however games are ordered or named.
    """
    ordered = sorted(runs.values(), key=lambda values: (values.size, values.tolist()))
    return [np.stack(list(games), axis=1) for _, games in itertools.groupby(ordered, key=len)]


def resamples(strata: Sequence[Floats], num_samples: int, seed: int) -> Iterator[list[Floats]]:
    """Chunks of resamples: for each table `(runs, games)` an array `(chunk, runs, games)`."""
    rng = np.random.default_rng(seed)
    for count in chunks(num_samples, sum(table.size for table in strata)):
        yield [_resample(table, count, rng) for table in strata]


def chunks(num_samples: int, values_each: int) -> Iterator[int]:
    """Numbers of resamples that sum to `num_samples`, with about `CHUNK_VALUES` values in each."""
    rows = max(1, CHUNK_VALUES // values_each)
    for start in range(0, num_samples, rows):
        yield min(rows, num_samples - start)


def _resample(table: Floats, count: int, rng: np.random.Generator) -> Floats:
    runs, games = table.shape
    places = rng.integers(runs, size=(count, runs, games), dtype=np.int32)
    places *= games
    places += np.arange(games, dtype=np.int32)
    return table.take(places)


def percentile_interval(point: float, estimates: Floats, level: float) -> Interval:
    """The central `level` of the resampled estimates. Not symmetric, and `point` need not be its middle."""
    lo, hi = np.quantile(estimates, [(1 - level) / 2, (1 + level) / 2])
    return Interval(point=point, lo=float(lo), hi=float(hi))


def refusal(runs: Mapping[str, Floats]) -> str | None:
    """Why these runs allow no interval, or None.

    A single run says nothing of its spread. Resampling would count that spread as zero, so an interval is refused
    as soon as one game has one run, even where others have more: it would be too narrow by an unknown amount.
    """
    single = [game for game, values in runs.items() if values.size < 2]
    if not single:
        return None
    if len(single) == len(runs):
        where = f"a single run of {single[0]}" if len(runs) == 1 else f"a single run of each of {len(runs)} games"
    else:
        rest = f" and {len(single) - 3} more" if len(single) > 3 else ""
        where = f"a single run of {', '.join(single[:3])}{rest}"
    return f"{where}: an interval needs two or more runs of every game"


def either_refusal(x: Mapping[str, Floats], y: Mapping[str, Floats]) -> str | None:
    """Why two sets of runs allow no interval of what is between them, or None."""
    for which, runs in (("x", x), ("y", y)):
        reason = refusal(runs)
        if reason is not None:
            return f"{which} has {reason}"
    return None


def check_request(num_samples: int, level: float) -> None:
    """`ValueError` for a number of resamples that is no integer or below 1, or a level outside (0, 1)."""
    if not isinstance(num_samples, Integral) or isinstance(num_samples, bool):
        raise ValueError(f"num_samples is {num_samples!r}, expected an integer; 2000 is usual")
    if num_samples < 1:
        raise ValueError(f"num_samples is {num_samples}, expected at least 1; 2000 is usual")
    if not 0.0 < level < 1.0:
        raise ValueError(f"the interval's level is {level}, expected more than 0 and less than 1, such as 0.95")
