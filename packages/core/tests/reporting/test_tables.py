"""What the tables of one agent say, whatever the format."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wm_core.reporting import tables
from wm_core.reporting.layout import Notes, Table
from wm_core.reporting.tables import EXCLUDED, results_table, seeds_table
from wm_core.specs import RunReport, TrainBudget

MakeReport = Callable[..., RunReport]


def texts(table: Table) -> list[list[str]]:
    return [[entry.text for entry in row] for group in table.groups for row in group]


def noted(table: Table, row: int, column: int) -> list[str]:
    """The notes that an entry points to."""
    entry = [row for group in table.groups for row in group][row][column]
    return [text for mark, text in table.notes if mark in entry.marks]


def test_a_single_game_lists_its_seeds_and_the_aggregates(make_report: MakeReport) -> None:
    table = results_table(make_report())
    assert [column.text for column in table.columns][:3] == ["Seed", "Episodes", "Return"]
    rows = texts(table)
    assert rows[0] == ["0", "3/3", "19.67 ± 1.53", "18.00", "21.00", "2", "1", "1.144"]
    assert [row[0] for row in rows[2:]] == ["Mean", "IQM"]
    assert rows[2][2].startswith("18.25 [")
    assert rows[2][-1] == "1.103"
    assert "95% percentile bootstrap over seeds" in table.caption
    assert "2000 resamples" in table.caption


def test_a_single_run_has_no_interval_and_the_reason_is_given(make_report: MakeReport) -> None:
    table = results_table(make_report({"ALE/Pong-v5": [[1.0, 2.0, 3.0]]}))
    assert texts(table)[1][2] == "2.00"
    assert noted(table, 1, 2) == [
        "no interval: a single run of ALE/Pong-v5: an interval needs two or more runs of every game"
    ]


def test_an_incomplete_seed_shows_its_coverage_and_is_noted(make_report: MakeReport) -> None:
    table = results_table(make_report({"ALE/Pong-v5": [[1.0, 2.0, 3.0], [9.0], [2.0, 4.0, 6.0]]}))
    assert texts(table)[1][1] == "1/3"
    assert noted(table, 1, 1) == [EXCLUDED]
    assert texts(table)[3][2].startswith("3.00 ")
    assert noted(table, 3, 2) == ["over the 2 of 3 runs that are complete"]


def test_nothing_measured_is_a_dash_with_its_reason(make_report: MakeReport) -> None:
    table = results_table(make_report({"wm/Catch-v0": [[], []]}))
    assert texts(table) == [
        ["0", "0/3", "—", "—", "—", "0", "0"],
        ["1", "0/3", "—", "—", "—", "0", "0"],
        ["Mean", "", "—", "", "", "", ""],
        ["IQM", "", "—", "", "", "", ""],
    ]
    assert noted(table, 2, 2) == ["no complete seed of wm/Catch-v0"]


def test_games_without_baselines_have_no_column_for_normalised_scores(make_report: MakeReport) -> None:
    assert "HNS" in [column.text for column in results_table(make_report()).columns]
    assert "HNS" not in [column.text for column in results_table(make_report({"wm/Catch-v0": [[1.0]]})).columns]


def test_several_games_have_a_row_each_and_the_aggregates(make_report: MakeReport) -> None:
    table = results_table(
        make_report({"ALE/Pong-v5": [[14.6], [14.6]], "ALE/Boxing-v5": [[0.1], [6.1]]}, planned=1, agent="d")
    )
    rows = texts(table)
    assert [row[0] for row in rows] == [
        *("ALE/Pong-v5", "ALE/Boxing-v5"),
        *("Mean", "Median", "IQM", "Optimality gap", "Superhuman games"),
    ]
    assert rows[0] == ["ALE/Pong-v5", "2/2", "14.60 ± 0.00", "[14.60, 14.60]", "1.000"]
    assert rows[1][2] == "3.10 ± 4.24"
    assert rows[2][-1] == "0.625"
    assert rows[-1][-1] == "1/2"


def test_a_single_seed_of_several_games_has_the_spread_of_its_episodes(make_report: MakeReport) -> None:
    table = results_table(make_report({"wm/A": [[1.0, 3.0]], "wm/B": [[1.0, 1.0]]}, planned=2))
    assert texts(table)[0][2:] == ["2.00 ± 1.41", "—"]
    assert "over the episodes of its single seed" in table.caption
    assert noted(table, 0, 3) == noted(table, 1, 3) != []


def test_returns_of_several_games_are_not_averaged(make_report: MakeReport) -> None:
    table = results_table(make_report({"wm/A": [[1.0]], "wm/B": [[2.0]]}, planned=1))
    assert texts(table)[-1] == ["Aggregate", "", "", "—"]
    assert "returns of different games are not averaged" in noted(table, 2, 0)[0]


def test_a_game_without_a_complete_seed_is_left_out_of_the_aggregates_which_say_so(make_report: MakeReport) -> None:
    report = make_report({"ALE/Pong-v5": [[14.6]], "ALE/Boxing-v5": [[]]}, planned=1)
    table = results_table(report)
    assert texts(table)[1] == ["ALE/Boxing-v5", "0/1", "—", "—", "—"]
    assert noted(table, 2, 0) == ["over the 1 of 2 runs that are complete, which leaves out 1 of 2 games"]
    assert report.aggregate.mean is not None
    assert report.aggregate.mean.point == 1.0
    assert texts(table)[-1][-1] == "1/1"


def test_no_complete_seed_of_any_game_leaves_no_aggregate_and_names_the_games(make_report: MakeReport) -> None:
    table = results_table(make_report({"ALE/Pong-v5": [[]], "ALE/Boxing-v5": [[]]}, planned=1))
    assert noted(table, 2, 0) == ["no complete seed of ALE/Pong-v5, ALE/Boxing-v5"]


def test_every_seed_of_every_game_has_a_row(make_report: MakeReport) -> None:
    table = seeds_table(make_report({"wm/A": [[1.0], [2.0]], "wm/B": [[3.0], [4.0]]}, planned=1))
    assert [row[:2] for row in texts(table)] == [["wm/A", "0"], ["wm/A", "1"], ["wm/B", "0"], ["wm/B", "1"]]


def test_untrained_weights_carry_a_dagger(make_report: MakeReport) -> None:
    table = results_table(make_report(untrained=True, checkpoints={}))
    assert "(untrained)" in table.title
    assert noted(table, 2, 0)[0].startswith("untrained: fresh weights")
    assert "†" in [mark for mark, _ in table.notes]
    assert "†" not in [mark for mark, _ in results_table(make_report(train=TrainBudget(steps=5), checkpoints={})).notes]


def test_marks_go_on_after_z() -> None:
    notes = Notes()
    assert [notes.mark(str(place)) for place in range(28)][-3:] == ["z", "aa", "ab"]
    assert notes.untrained() == "†"
    assert notes.mark("28") == "ac"
    assert notes.mark("0") == "a"


def test_the_decimals_of_a_game_are_found_once_and_not_for_each_seed(
    make_report: MakeReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    found = tables.game_decimals
    monkeypatch.setattr(tables, "game_decimals", lambda game: (counted.append(game.env.id), found(game))[1])
    report = make_report()
    assert len(texts(seeds_table(report))) > 1
    assert counted == [game.env.id for game in report.games]
