from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from wm_core.metrics import aggregate, bootstrap_iqm_ci, iqm_of_array
from wm_core.specs import Interval

# rliable 1.2.0 on the scores by formula: 95%, 20,000 resamples
RLIABLE = {
    "alpha": {
        "mean": (1.2009414918904773, 0.9769159577665057, 1.437449007994742),
        "median": (1.163739520538518, 0.6401681567210972, 1.2481885205284118),
        "iqm": (0.6310635247119173, 0.47849221136665077, 0.8337525266132997),
        "optimality_gap": (0.4777401917132633, 0.41549213592944934, 0.5382521935489454),
    },
    "beta": {
        "mean": (1.4191164612440945, 1.2443268815438484, 1.5982232524502265),
        "median": (1.377849035375447, 1.0763076901282476, 1.617575199726422),
        "iqm": (0.9526862723493452, 0.8112311879646791, 1.1183668399901152),
        "optimality_gap": (0.3270403777050478, 0.2855657497118401, 0.36955588606059386),
    },
}

values = st.floats(-1e6, 1e6)
runs = st.lists(values, min_size=2, max_size=6)
ragged = st.dictionaries(st.text(min_size=1, max_size=3), runs, min_size=1, max_size=5)
matrices = hnp.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=values)
property_test = settings(deadline=None, max_examples=60)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_points_equal_those_of_rliable(name: str, request: pytest.FixtureRequest) -> None:
    found = aggregate(request.getfixturevalue(name), num_samples=1)
    expected = {key: point for key, (point, _, _) in RLIABLE[name].items()}
    assert {key: interval.point for key, interval in found.items()} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_intervals_equal_those_of_rliable(name: str, request: pytest.FixtureRequest) -> None:
    found = aggregate(request.getfixturevalue(name), num_samples=20_000)
    ends = {key: (interval.lo, interval.hi) for key, interval in found.items()}
    for key, (_, lo, hi) in RLIABLE[name].items():
        assert ends[key] == pytest.approx((lo, hi), abs=0.01), key


def test_the_iqm_interval_of_a_matrix_is_that_of_rliable(beta: NDArray[np.float64]) -> None:
    _, lo, hi = RLIABLE["beta"]["iqm"]
    assert bootstrap_iqm_ci(beta, num_samples=20_000) == pytest.approx((lo, hi), abs=0.01)


def test_alpha_is_what_the_interval_leaves_out(beta: NDArray[np.float64]) -> None:
    lo, hi = bootstrap_iqm_ci(beta, alpha=0.5)
    interval = aggregate(beta, level=0.5)["iqm"]
    assert (lo, hi) == pytest.approx((interval.lo, interval.hi), abs=1e-12)


@given(st.lists(values, min_size=1, max_size=200))
@property_test
def test_the_iqm_cuts_a_quarter_rounded_down_from_each_end(scores: list[float]) -> None:
    cut = int(0.25 * len(scores))
    kept = sorted(scores)[cut : len(scores) - cut]
    assert iqm_of_array(scores) == pytest.approx(math.fsum(kept) / len(kept), rel=1e-9, abs=1e-6)


@given(st.lists(values, min_size=1, max_size=100))
@property_test
def test_the_iqm_lies_between_the_extremes(scores: list[float]) -> None:
    rounding = 1e-9 * max(map(abs, scores))
    assert min(scores) - rounding <= iqm_of_array(scores) <= max(scores) + rounding


@given(ragged)
@property_test
def test_the_iqm_pools_the_runs_of_all_games(scores: dict[str, list[float]]) -> None:
    pooled = [run for game in scores.values() for run in game]
    assert aggregate(scores, num_samples=1)["iqm"].point == pytest.approx(iqm_of_array(pooled), rel=1e-9, abs=1e-6)


@given(ragged)
@property_test
def test_mean_median_and_gap_weigh_every_game_the_same(scores: dict[str, list[float]]) -> None:
    found = {name: interval.point for name, interval in aggregate(scores, num_samples=1).items()}
    means = [np.mean(game) for game in scores.values()]
    capped = [np.mean(np.minimum(game, 1.0)) for game in scores.values()]
    assert found["mean"] == pytest.approx(np.mean(means), rel=1e-9, abs=1e-6)
    assert found["median"] == pytest.approx(np.median(means), rel=1e-9, abs=1e-6)
    assert found["optimality_gap"] == pytest.approx(1 - np.mean(capped), rel=1e-9, abs=1e-6)


def test_the_gap_caps_each_run_and_not_the_mean() -> None:
    assert aggregate({"a": [0.0, 2.0]})["optimality_gap"].point == 0.5


@given(matrices)
@property_test
def test_a_matrix_and_a_mapping_give_the_same(matrix: NDArray[np.float64]) -> None:
    mapping = {f"game {place}": column for place, column in enumerate(matrix.T)}
    assert aggregate(matrix, num_samples=50) == aggregate(mapping, num_samples=50)


@given(ragged, st.randoms(use_true_random=False))
@property_test
def test_the_order_of_runs_and_games_changes_nothing(scores: dict[str, list[float]], random: object) -> None:
    shuffled = {
        game: random.sample(scores[game], len(scores[game])) for game in random.sample(list(scores), len(scores))
    }  # type: ignore[attr-defined]
    assert aggregate(shuffled, num_samples=50) == aggregate(scores, num_samples=50)


@given(ragged)
@property_test
def test_intervals_stay_within_the_scores(scores: dict[str, list[float]]) -> None:
    pooled = [run for game in scores.values() for run in game]
    rounding = 1e-9 * max(map(abs, pooled))
    for name in ("mean", "median", "iqm"):
        interval = aggregate(scores, num_samples=50)[name]
        assert min(pooled) - rounding <= interval.lo <= interval.hi <= max(pooled) + rounding


def test_a_wider_level_gives_a_wider_interval(alpha: NDArray[np.float64]) -> None:
    narrow, wide = aggregate(alpha, level=0.8)["iqm"], aggregate(alpha, level=0.99)["iqm"]
    assert wide.lo < narrow.lo < narrow.hi < wide.hi


def test_equal_runs_give_an_interval_of_no_width() -> None:
    assert aggregate({"a": [2.0, 2.0, 2.0]})["iqm"] == Interval(point=2.0, lo=2.0, hi=2.0)


def test_a_seed_gives_one_interval_and_another_seed_another(alpha: NDArray[np.float64]) -> None:
    assert aggregate(alpha, seed=3) == aggregate(alpha, seed=3)
    assert aggregate(alpha, seed=3) != aggregate(alpha, seed=4)


def test_a_game_of_two_runs_is_resampled_at_two_runs() -> None:
    """Its mean is 0, 1/2 or 1 with chance 1/4, 1/2, 1/4, whatever the number of runs elsewhere."""
    interval = aggregate({"two": [0.0, 1.0], "many": [0.0] * 400})["mean"]
    assert interval == Interval(point=0.25, lo=0.0, hi=0.5)


def test_a_game_of_many_runs_is_resampled_at_as_many() -> None:
    interval = aggregate({"two": [0.0, 0.0], "many": [0.0, 1.0] * 200}, num_samples=20_000)["mean"]
    normal_width = 2 * 1.96 * 0.5 * math.sqrt(0.25 / 400)
    assert interval.hi - interval.lo == pytest.approx(normal_width, rel=0.05)
