"""What a set of scores may look like, and its one internal form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = Mapping[str, ArrayLike] | ArrayLike
"""Game -> runs, shape `(runs of that game,)`; or a matrix of shape `(runs, games)`."""


def runs_by_game(scores: Scores) -> dict[str, NDArray[np.float64]]:
    """The runs of each game in ascending order, so that nothing depends on the order in which they came.

    A matrix's games are called `column 0`, `column 1`, ... Raises `ValueError` on an empty or non-finite input.
    """
    if not isinstance(scores, Mapping):
        matrix = finite(scores, "scores")
        if matrix.ndim != 2:
            raise ValueError(
                f"scores: expected a matrix (runs, games), got shape {matrix.shape}; "
                "give a mapping from game to runs instead"
            )
        return {f"column {place}": np.sort(runs) for place, runs in enumerate(matrix.T)}
    if not scores:
        raise ValueError("scores: no games; give at least one game with one run")
    runs = {game: finite(values, f"scores of {game!r}") for game, values in scores.items()}
    for game, values in runs.items():
        if values.ndim != 1:
            raise ValueError(f"scores of {game!r}: expected a flat list of runs, got shape {values.shape}")
    return {game: np.sort(values) for game, values in runs.items()}


def same_games(x: Mapping[str, NDArray[np.float64]], y: Mapping[str, NDArray[np.float64]]) -> None:
    """`ValueError` that names games which only one of the two has."""
    lone = sorted(x.keys() ^ y.keys())
    if lone:
        raise ValueError(
            f"x and y must hold the same games, but only one of them has {', '.join(lone[:5])}; leave those out"
        )


def finite(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """`values` as float64; `ValueError` that names `what` and the place where one is missing, NaN or infinite."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what}: expected real numbers in a rectangular array ({error}); "
            "for unequal numbers of runs give a mapping from game to runs"
        ) from error
    if array.size == 0:
        raise ValueError(f"{what}: empty; give at least one value")
    holes = np.argwhere(~np.isfinite(array))
    if len(holes):
        place = tuple(holes[0].tolist())
        raise ValueError(
            f"{what}: {array[place]} at index {', '.join(map(str, place)) or '()'}, expected finite numbers; "
            "leave out runs that were not measured"
        )
    return array


def summable(runs: Mapping[str, NDArray[np.float64]]) -> None:
    """`ValueError` that names the game whose scores are so large that sums of all runs are no longer finite."""
    limit = np.finfo(np.float64).max / (2 * sum(values.size for values in runs.values()))
    for game, values in runs.items():
        largest = float(np.abs(values).max())
        if largest > limit:
            raise ValueError(
                f"scores of {game!r}: {largest:.3g} is too large for statistics, whose sums would overflow; "
                "check the scores, or give them in another unit"
            )
