from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wm_core.metrics import probability_of_improvement
from wm_core.specs import Interval

runs = st.lists(st.integers(-3, 3), min_size=2, max_size=5)
pairs_of_runs = st.dictionaries(st.sampled_from("abcde"), st.tuples(runs, runs), min_size=1)
property_test = settings(deadline=None, max_examples=60)


def test_point_and_interval_equal_those_of_rliable(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
    found = probability_of_improvement(beta, alpha, num_samples=20_000)
    assert found.point == pytest.approx(0.5913461538461539, abs=1e-6)
    assert (found.lo, found.hi) == pytest.approx((0.5317307692307692, 0.6490625), abs=0.01)


@given(pairs_of_runs)
@property_test
def test_it_is_the_share_of_pairs_won_with_ties_at_one_half(pairs: dict[str, tuple[list[int], list[int]]]) -> None:
    shares = [np.mean([(a > b) + 0.5 * (a == b) for a, b in itertools.product(x, y)]) for x, y in pairs.values()]
    found = probability_of_improvement(
        {game: x for game, (x, _) in pairs.items()}, {game: y for game, (_, y) in pairs.items()}, num_samples=1
    )
    assert found.point == pytest.approx(np.mean(shares), abs=1e-12)


@given(pairs_of_runs)
@property_test
def test_the_two_directions_sum_to_one(pairs: dict[str, tuple[list[int], list[int]]]) -> None:
    x = {game: ours for game, (ours, _) in pairs.items()}
    y = {game: theirs for game, (_, theirs) in pairs.items()}
    there = probability_of_improvement(x, y, num_samples=1).point
    assert there + probability_of_improvement(y, x, num_samples=1).point == pytest.approx(1.0, abs=1e-12)


@given(pairs_of_runs)
@property_test
def test_the_order_of_runs_and_games_changes_nothing(pairs: dict[str, tuple[list[int], list[int]]]) -> None:
    x = {game: ours for game, (ours, _) in pairs.items()}
    y = {game: theirs for game, (_, theirs) in pairs.items()}
    backwards = {game: ours[::-1] for game, ours in reversed(x.items())}
    assert probability_of_improvement(backwards, y, num_samples=50) == probability_of_improvement(x, y, num_samples=50)


def test_equal_scores_give_one_half_without_spread() -> None:
    assert probability_of_improvement({"a": [1.0, 1.0]}, {"a": [1.0, 1.0]}) == Interval(point=0.5, lo=0.5, hi=0.5)


def test_a_clear_winner_wins_every_resample() -> None:
    assert probability_of_improvement([[2.0], [3.0]], [[1.0], [0.0], [1.5]]) == Interval(point=1.0, lo=1.0, hi=1.0)


def test_runs_of_both_sides_are_resampled() -> None:
    """All pairs are won with chance 1/16: x draws its better run twice, y its worse run twice."""
    found = probability_of_improvement({"a": [0.0, 2.0]}, {"a": [1.0, 3.0]})
    assert found == Interval(point=0.25, lo=0.0, hi=1.0)


def test_games_that_only_one_side_has_are_named() -> None:
    with pytest.raises(ValueError, match="only one of them has Hero, Pong"):
        probability_of_improvement({"Alien": [1.0], "Pong": [1.0]}, {"Alien": [1.0], "Hero": [1.0]})
