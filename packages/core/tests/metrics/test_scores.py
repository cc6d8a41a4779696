from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wm_core.metrics import (
    aggregate,
    bootstrap_iqm_ci,
    human_normalise,
    iqm_of_array,
    performance_profile,
    probability_of_improvement,
    superhuman_count,
)

TAKES_SCORES: dict[str, Callable[[Any], object]] = {
    "aggregate": aggregate,
    "performance_profile": lambda scores: performance_profile(scores, [0.5]),
    "probability_of_improvement, x": lambda scores: probability_of_improvement(scores, {"Pong": [1.0, 2.0]}),
    "probability_of_improvement, y": lambda scores: probability_of_improvement({"Pong": [1.0, 2.0]}, scores),
    "superhuman_count": superhuman_count,
}
TAKES_VALUES: dict[str, Callable[[Any], object]] = {
    "bootstrap_iqm_ci": bootstrap_iqm_ci,
    "human_normalise": lambda values: human_normalise("Pong", values),
    "iqm_of_array": iqm_of_array,
    "taus": lambda values: performance_profile({"Pong": [1.0, 2.0]}, values),
}


@pytest.mark.parametrize("function", TAKES_SCORES.values(), ids=TAKES_SCORES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_a_hole_in_the_scores_is_named_with_its_game_and_place(function: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(ValueError, match=r"scores of 'Pong': (nan|inf|-inf) at index 1"):
        function({"Pong": [1.0, bad, 2.0]})


@pytest.mark.parametrize("function", TAKES_VALUES.values(), ids=TAKES_VALUES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_a_hole_in_a_list_of_values_is_named_with_its_place(function: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(ValueError, match=r"(nan|inf) at index 2, expected finite numbers"):
        function([1.0, 2.0, bad])


def test_a_hole_in_a_matrix_is_named_by_run_and_game() -> None:
    with pytest.raises(ValueError, match="scores: nan at index 1, 0"):
        aggregate([[1.0, 2.0], [np.nan, 3.0]])


def test_a_masked_run_is_a_hole_and_not_the_number_under_the_mask() -> None:
    with pytest.raises(ValueError, match="nan at index 1"):
        iqm_of_array(np.ma.masked_array([1.0, 999.0, 2.0], mask=[False, True, False]))


@pytest.mark.parametrize("function", TAKES_SCORES.values(), ids=TAKES_SCORES)
@pytest.mark.parametrize("nothing", [{}, {"Pong": []}, [], np.empty((0, 26))], ids=str)
def test_nothing_has_no_statistics(function: Callable[[Any], object], nothing: Any) -> None:
    with pytest.raises(ValueError, match="give at least one"):
        function(nothing)


@pytest.mark.parametrize("function", TAKES_VALUES.values(), ids=TAKES_VALUES)
def test_an_empty_list_of_values_is_refused(function: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="empty; give at least one value"):
        function([])


def test_a_flat_list_is_no_matrix() -> None:
    with pytest.raises(ValueError, match=r"expected a matrix \(runs, games\), got shape \(3,\)"):
        aggregate([1.0, 2.0, 3.0])


def test_lists_of_unequal_length_are_pointed_to_a_mapping() -> None:
    with pytest.raises(ValueError, match="for unequal numbers of runs give a mapping"):
        aggregate([[1.0, 2.0], [3.0]])


def test_a_game_with_a_matrix_of_runs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scores of 'Pong': expected a flat list of runs, got shape \(1, 2\)"):
        aggregate({"Pong": [[1.0, 2.0]]})


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level is"):
        aggregate({"Pong": [1.0, 2.0]}, level=level)


def test_zero_resamples_are_refused() -> None:
    with pytest.raises(ValueError, match="num_samples is 0, expected at least 1"):
        bootstrap_iqm_ci([1.0, 2.0], num_samples=0)


def test_the_scores_given_are_not_changed() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 4))
    before = scores.copy()
    aggregate(scores)
    iqm_of_array(scores)
    performance_profile(scores, [0.0])
    np.testing.assert_array_equal(scores, before)


def test_the_global_random_state_is_never_touched() -> None:
    np.random.seed(7)
    before = np.random.get_state()
    scores = {"Pong": [1.0, 2.0, 3.0], "Alien": [0.0, 1.0]}
    for function in TAKES_SCORES.values():
        function(scores if function in (aggregate, superhuman_count) else {"Pong": [1.0, 2.0, 3.0]})
    bootstrap_iqm_ci([1.0, 2.0, 3.0])
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
