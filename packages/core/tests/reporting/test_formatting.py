"""Numbers and names before any markup."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.reporting.formatting import bounds, decimals_for, estimate, listing, number, one_line
from wm_core.specs import Interval


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([], 2), ([None, 0.0], 2), ([-20.7, 3.0], 2), ([99.99], 2), ([100.0, 2.0], 1), ([0.034], 3), ([1e-9], 6)],
)
def test_decimals_suit_the_size_of_the_returns(values: list[float | None], decimals: int) -> None:
    assert decimals_for(values) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "—"), (-20.704, "-20.70"), (-0.001, "0.00"), (9999999.0, "9999999.00"), (-1.25e9, "-1.250e+09")],
)
def test_a_number_is_rounded_and_never_minus_zero(value: float | None, text: str) -> None:
    assert number(value, 2) == text


def test_an_estimate_without_spread_is_the_mean_alone() -> None:
    assert estimate(12.3, 0.41, 2) == "12.30 ± 0.41"
    assert estimate(12.3, None, 2) == "12.30"
    assert estimate(None, None, 2) == "—"


def test_a_refused_interval_is_a_dash() -> None:
    assert bounds(Interval(point=1, lo=0.5, hi=1.5), 2) == "[0.50, 1.50]"
    assert bounds(Interval(point=1, refused="a single run"), 2) == "—"


def test_a_long_listing_says_how_much_it_leaves_out() -> None:
    assert listing(range(3), 3) == "0, 1, 2"
    assert listing(range(5), 3) == "0, 1, 2 and 2 more"


@settings(deadline=None, max_examples=100)
@given(st.text())
def test_any_text_becomes_one_printable_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert line == line.strip()
    assert one_line(line) == line


def test_what_cannot_be_seen_is_written_out() -> None:
    assert one_line(" a\r\n\tb\x00c\u202ed ") == "a b<U+0000>c<U+202E>d"
