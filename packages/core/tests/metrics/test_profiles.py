from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wm_core.metrics import performance_profile

TAUS = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]
# rliable 1.2.0 on the scores by formula
RLIABLE = {
    "alpha": [
        0.8538461538461538,
        0.6538461538461539,
        0.5153846153846153,
        0.34615384615384615,
        0.2076923076923077,
        0.06923076923076923,
    ],
    "beta": [
        0.9471153846153846,
        0.8028846153846154,
        0.6538461538461539,
        0.4567307692307692,
        0.24519230769230768,
        0.08173076923076923,
    ],
}

ragged = st.dictionaries(
    st.text(min_size=1, max_size=3), st.lists(st.floats(-5, 5), min_size=2, max_size=6), min_size=1, max_size=5
)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_points_equal_those_of_rliable(name: str, request: pytest.FixtureRequest) -> None:
    profile = performance_profile(request.getfixturevalue(name), TAUS, num_samples=1)
    assert [interval.point for interval in profile] == pytest.approx(RLIABLE[name], abs=1e-6)


def test_intervals_follow_the_exact_distribution_of_resamples(alpha: NDArray[np.float64]) -> None:
    """The number of runs above tau in a resample is a sum of binomials, one a game."""
    tau, (runs, games) = 0.5, alpha.shape
    chances = np.ones(1)
    for share in (alpha > tau).mean(axis=0):
        above = [math.comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(runs + 1)]
        chances = np.convolve(chances, above)
    exact = np.searchsorted(chances.cumsum(), [0.025, 0.975]) / (runs * games)
    (found,) = performance_profile(alpha, [tau], num_samples=20_000)
    assert [found.lo, found.hi] == pytest.approx(exact.tolist(), abs=1.01 / (runs * games))


def test_a_score_equal_to_tau_is_not_above_it() -> None:
    assert [interval.point for interval in performance_profile({"a": [1.0, 2.0]}, [1.0, 2.0])] == [0.5, 0.0]


def test_every_game_weighs_the_same() -> None:
    (found,) = performance_profile({"a": [1.0, 1.0], "b": [0.0] * 8}, [0.5])
    assert found.point == 0.5


@given(ragged)
@settings(deadline=None, max_examples=60)
def test_a_profile_never_rises(scores: dict[str, list[float]]) -> None:
    profile = performance_profile(scores, np.linspace(-6, 6, 13), num_samples=50)
    for lower, higher in itertools.pairwise(profile):
        assert higher.point <= lower.point + 1e-12
        assert higher.lo <= lower.lo + 1e-12
        assert higher.hi <= lower.hi + 1e-12


@given(ragged)
@settings(deadline=None, max_examples=30)
def test_a_profile_runs_from_one_to_zero(scores: dict[str, list[float]]) -> None:
    lowest, highest = performance_profile(scores, [-6.0, 6.0], num_samples=50)
    assert (lowest.lo, lowest.hi) == pytest.approx((1.0, 1.0), abs=1e-12)
    assert (highest.lo, highest.hi) == (0.0, 0.0)
