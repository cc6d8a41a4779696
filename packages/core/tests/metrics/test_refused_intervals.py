from __future__ import annotations

import pytest

from wm_core.metrics import aggregate, bootstrap_iqm_ci, performance_profile, probability_of_improvement
from wm_core.specs import Interval

NEEDS = "an interval needs two or more runs of every game"


def test_one_run_of_one_game_has_a_point_and_the_reason_why_it_has_no_interval() -> None:
    refused = Interval(point=0.5, refused=f"a single run of Pong: {NEEDS}")
    assert aggregate({"Pong": [0.5]}) == dict.fromkeys(("mean", "median", "iqm", "optimality_gap"), refused)


def test_one_run_of_every_game_is_refused() -> None:
    assert aggregate([[0.5, 1.5, 2.5]])["mean"] == Interval(
        point=1.5, refused=f"a single run of each of 3 games: {NEEDS}"
    )


def test_a_single_run_of_some_games_is_refused_by_their_names() -> None:
    scores = {"Pong": [1.0], "Alien": [1.0, 2.0], "Hero": [3.0]}
    assert aggregate(scores)["iqm"].refused == f"a single run of Pong, Hero: {NEEDS}"


def test_many_single_runs_are_named_by_the_first_three() -> None:
    scores = {"complete": [1.0, 2.0], **{f"game {place}": [1.0] for place in range(7)}}
    assert aggregate(scores)["mean"].refused == f"a single run of game 0, game 1, game 2 and 4 more: {NEEDS}"


@pytest.mark.parametrize("values", [[1.0], [[1.0, 2.0, 3.0]]], ids=str)
def test_the_ends_alone_are_refused_by_an_error(values: object) -> None:
    with pytest.raises(ValueError, match="no interval from a single run"):
        bootstrap_iqm_ci(values)


def test_an_improvement_says_which_side_has_a_single_run() -> None:
    assert probability_of_improvement({"Pong": [1.0, 2.0]}, {"Pong": [0.5]}) == Interval(
        point=1.0, refused=f"y has a single run of Pong: {NEEDS}"
    )


def test_a_profile_of_single_runs_keeps_its_points() -> None:
    profile = performance_profile([[0.5, 1.5]], [1.0, 2.0])
    reason = f"a single run of each of 2 games: {NEEDS}"
    assert profile == [Interval(point=0.5, refused=reason), Interval(point=0.0, refused=reason)]
