"""Requests that have no answer: scores too large to be summed up, numbers of resamples that are no number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.metrics import (
    aggregate,
    bootstrap_iqm_ci,
    iqm_of_array,
    performance_profile,
    probability_of_improvement,
)

PAIR = {"Pong": [1.0, 2.0]}
RESAMPLES: dict[str, Callable[[Any], object]] = {
    "aggregate": lambda n: aggregate(PAIR, num_samples=n),
    "bootstrap_iqm_ci": lambda n: bootstrap_iqm_ci([1.0, 2.0], num_samples=n),
    "performance_profile": lambda n: performance_profile(PAIR, [1.5], num_samples=n),
    "probability_of_improvement": lambda n: probability_of_improvement(PAIR, PAIR, num_samples=n),
}


@pytest.mark.parametrize("scores", [[1e308, 1.7e308, 1.7e308], [-1.7e308, -1.7e308], [1.7e308]])
def test_scores_whose_mean_would_overflow_are_refused_with_their_game(scores: list[float]) -> None:
    with pytest.raises(ValueError, match=r"scores of 'a': 1\.7e\+308 is too large for statistics"):
        aggregate({"b": [1.0, 2.0], "a": scores})


@pytest.mark.parametrize("statistic", [iqm_of_array, bootstrap_iqm_ci])
def test_values_whose_mean_would_overflow_are_refused(statistic: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="too large for statistics"):
        statistic([1.7e308, 1.7e308, 1.7e308])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1.7e308, 1.7e308), min_size=1, max_size=6))
def test_scores_have_finite_statistics_or_are_refused_as_too_large(scores: list[float]) -> None:
    try:
        with np.errstate(over="raise", invalid="raise"):
            result = aggregate({"a": scores}, num_samples=10)
    except ValueError as error:
        assert "too large for statistics" in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert np.isfinite([interval.point for interval in result.values()]).all()


@pytest.mark.parametrize("function", RESAMPLES.values(), ids=RESAMPLES)
@pytest.mark.parametrize("number", [2.5, "10", None, True], ids=repr)
def test_a_number_of_resamples_that_is_no_integer_is_refused(function: Callable[[Any], object], number: Any) -> None:
    with pytest.raises(ValueError, match=r"num_samples is .*, expected an integer"):
        function(number)


def test_a_numpy_integer_is_a_number_of_resamples() -> None:
    assert aggregate(PAIR, num_samples=np.int64(10)) == aggregate(PAIR, num_samples=10)
