"""`--only` takes groups, ids and globs of a suite."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import UsageError
from wm_core.metrics.baselines import ATARI_100K as BASELINES
from wm_core.specs import Suite
from wm_core.suites.atari100k import ATARI_100K
from wm_core.suites.select import select

SUITE = Suite(name="s", games={"catch": ("catch/0", "catch/1"), "bandit": ("bandit/0", "bandit/1")})


def test_atari100k_is_the_26_games_with_a_human_and_a_random_score() -> None:
    assert ATARI_100K.ids() == tuple(f"ALE/{game}-v5" for game in BASELINES)


def test_nothing_said_is_the_whole_suite() -> None:
    assert select(SUITE, []) == SUITE


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        (["catch"], ("catch/0", "catch/1")),
        (["bandit/1"], ("bandit/1",)),
        (["*/0"], ("catch/0", "bandit/0")),
        (["bandit/0", "catch"], ("catch/0", "catch/1", "bandit/0")),
        (["b*"], ("bandit/0", "bandit/1")),
    ],
)
def test_groups_ids_and_globs_are_taken_in_the_suites_order(only: list[str], ids: tuple[str, ...]) -> None:
    assert select(SUITE, only).ids() == ids


def test_a_group_without_games_is_left_out() -> None:
    assert list(select(SUITE, ["catch/1"]).games) == ["catch"]


def test_an_atari_game_is_a_group_of_its_own() -> None:
    assert select(ATARI_100K, ["Pong", "Breakout"]).ids() == ("ALE/Breakout-v5", "ALE/Pong-v5")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'cach' is neither a group nor an id of s; did you mean catch"):
        select(SUITE, ["cach"])


def test_names_may_share_a_text_with_commas_between() -> None:
    assert select(SUITE, ["catch/0, bandit/1,"]).ids() == ("catch/0", "bandit/1")


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_a_text_without_a_name_is_refused_rather_than_the_whole_suite(text: str) -> None:
    with pytest.raises(UsageError, match="names nothing; leave it out for the whole suite"):
        select(SUITE, ["catch", text])


@settings(deadline=None, max_examples=25)
@given(st.sets(st.sampled_from(SUITE.ids()), min_size=1))
def test_any_set_of_ids_selects_exactly_itself(ids: set[str]) -> None:
    assert set(select(SUITE, sorted(ids)).ids()) == ids
