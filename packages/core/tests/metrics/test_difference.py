from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wm_core.metrics import aggregate, difference

scores = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=5)


def test_points_are_the_differences_of_the_aggregates(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
    found = difference(beta, alpha, num_samples=1)
    of_alpha, of_beta = aggregate(alpha, num_samples=1), aggregate(beta, num_samples=1)
    assert set(found) == {"mean", "median", "iqm", "optimality_gap"}
    for name, interval in found.items():
        assert interval.point == pytest.approx(of_beta[name].point - of_alpha[name].point, abs=1e-12)


def test_the_interval_is_as_wide_as_that_of_two_independent_means() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(1.0, 1.0, 400), rng.normal(0.0, 2.0, 900)
    interval = difference({"game": x}, {"game": y}, num_samples=5000)["mean"]
    assert interval.lo is not None
    assert interval.hi is not None
    deviation = np.sqrt(x.var() / x.size + y.var() / y.size)
    assert interval.hi - interval.lo == pytest.approx(2 * 1.96 * deviation, rel=0.05)


def test_the_other_way_round_it_is_the_negative(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
    there, back = (difference(*pair, num_samples=5000)["iqm"] for pair in ((beta, alpha), (alpha, beta)))
    assert (there.point, there.lo, there.hi) == pytest.approx((-back.point, -back.hi, -back.lo), abs=0.02)  # type: ignore[operator]


@given(scores)
@settings(deadline=None, max_examples=20)
def test_equal_scores_differ_by_nothing(runs: list[float]) -> None:
    for interval in difference({"a": runs}, {"a": runs}, num_samples=50).values():
        assert interval.point == 0.0


def test_a_single_run_of_either_refuses_the_interval() -> None:
    interval = difference({"a": [1.0, 2.0]}, {"a": [3.0]})["mean"]
    assert (interval.point, interval.lo) == (-1.5, None)
    assert interval.refused is not None
    assert interval.refused.startswith("y has a single run of a")


def test_different_games_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="only one of them has b"):
        difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.0], "b": [1.0]})
