"""Several agents beside each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wm_core.errors import UsageError
from wm_core.reporting.combined import combine, combined_tables
from wm_core.reporting.layout import Table
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def row(table: Table, label: str) -> list[str]:
    return next([entry.text for entry in row][1:] for group in table.groups for row in group if row[0].text == label)


def notes_of(table: Table, label: str, column: int) -> list[str]:
    entry = next(row[column] for group in table.groups for row in group if row[0].text == label)
    return [text for mark, text in table.notes if mark in entry.marks]


def test_agents_stand_beside_each_other(make_report: MakeReport) -> None:
    (table,) = combined_tables([make_report(), make_report({"ALE/Pong-v5": [[1.0, 2.0, 3.0]]}, agent="diamond")])
    assert [column.text for column in table.columns] == ["Game", "iris", "diamond"]
    assert row(table, "ALE/Pong-v5") == ["18.25 ± 2.00", "2.00"]
    assert row(table, "Mean return")[1] == "2.00"
    assert row(table, "Seeds") == ["2", "1"]
    assert row(table, "Episodes") == ["6/6", "3/3"]


def test_aggregates_over_games_are_normalised_and_carry_intervals(make_report: MakeReport) -> None:
    games = {"ALE/Pong-v5": [[14.6], [14.6]], "ALE/Boxing-v5": [[0.1], [6.1]]}
    (table,) = combined_tables([make_report(games, planned=1), make_report(games, planned=1, agent="diamond")])
    assert row(table, "Mean HNS")[0].startswith("0.625 [0.500, ")
    assert row(table, "Superhuman games") == ["1/2", "1/2"]
    assert all("differ" not in text for _, text in table.notes)


def test_an_incomplete_entry_shows_its_coverage(make_report: MakeReport) -> None:
    part = make_report({"ALE/Pong-v5": [[1.0, 2.0, 3.0], [9.0]]}, agent="diamond")
    (table,) = combined_tables([make_report(), part, make_report({"ALE/Pong-v5": [[], []]}, agent="genie")])
    assert row(table, "ALE/Pong-v5")[1:] == ["2.00 (4/6)", "— (0/6)"]
    assert notes_of(table, "ALE/Pong-v5", 3) == ["no complete seed"]
    assert notes_of(table, "Mean return", 3) == ["no complete seed of ALE/Pong-v5"]


def test_a_difference_in_the_rules_is_marked_on_the_game(make_report: MakeReport) -> None:
    reports = [make_report(), make_report(agent="diamond", env={"sticky_actions": 0.25})]
    (table,) = combined_tables(reports)
    (note,) = notes_of(table, "ALE/Pong-v5", 0)
    assert note == (
        "measured under different protocols: sticky_actions (iris: 0.0; diamond: 0.25). "
        "Not to be read against each other"
    )
    assert combine(reports).notes == (f"ALE/Pong-v5: {note}",)


def test_a_protocol_that_differs_in_name_alone_is_no_difference(make_report: MakeReport) -> None:
    assert combine([make_report(), make_report(agent="diamond", env={"protocol": "custom"})]).notes == ()


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"env": {"frame_stack": 4}}, "the agents see different observations of ALE/Pong-v5: frame_stack"),
        ({"packages": {"ale-py": "0.11"}}, "versions of ale-py differ (iris: 0.12.1; diamond: 0.11)"),
        ({"untrained": True, "checkpoints": {}}, "seeds vary different things"),
        ({"returns": {"ALE/Boxing-v5": [[1.0], [2.0]]}, "planned": 1}, "aggregates are over different sets of games"),
    ],
)
def test_other_differences_are_noted(make_report: MakeReport, fields: dict[str, object], note: str) -> None:
    (found,) = combine([make_report(), make_report(agent="diamond", **fields)]).notes
    assert found.startswith(note)


def test_a_game_that_an_agent_did_not_play_is_a_dash(make_report: MakeReport) -> None:
    (table,) = combined_tables([make_report(), make_report({"wm/A": [[1.0], [2.0]]}, agent="random", planned=1)])
    assert row(table, "wm/A") == ["—", "1.50 ± 0.71"]
    assert notes_of(table, "wm/A", 1) == ["not part of this agent's run"]


def test_aggregates_on_another_scale_are_a_dash(make_report: MakeReport) -> None:
    games = {"ALE/Pong-v5": [[1.0]], "ALE/Boxing-v5": [[2.0]]}
    (table,) = combined_tables([make_report(games, planned=1), make_report(agent="diamond")])
    assert row(table, "Mean return")[0] == row(table, "Superhuman games")[1] == "—"
    assert notes_of(table, "Superhuman games", 2) == ["this agent's aggregates are on the scale 'return'"]


def test_no_aggregate_at_all_is_a_row_of_dashes(make_report: MakeReport) -> None:
    (table,) = combined_tables([make_report({"wm/A": [[1.0]], "wm/B": [[1.0]]}, planned=1)] * 2)
    assert row(table, "Aggregate") == ["—", "—"]
    assert "not averaged" in notes_of(table, "Aggregate", 1)[0]


def test_two_runs_of_one_agent_are_told_apart(make_report: MakeReport) -> None:
    first, second = make_report(), make_report(planned=3, device="cuda")
    (table,) = combined_tables([first, second])
    assert [column.text for column in table.columns[1:]] == [
        f"iris #{report.spec_sha256[:8]}" for report in (first, second)
    ]


def test_untrained_agents_carry_a_dagger(make_report: MakeReport) -> None:
    (table,) = combined_tables([make_report(), make_report(agent="diamond", untrained=True, checkpoints={})])
    assert [column.marks for column in table.columns] == [(), (), ("†",)]


def test_many_agents_are_spread_evenly_over_tables(make_report: MakeReport) -> None:
    reports = [make_report(agent=f"agent{place}") for place in range(5)]
    tables = combined_tables(reports, 4)
    assert [len(table.columns) - 1 for table in tables] == [3, 2]
    assert tables[1].title == "Benchmark results (part 2 of 2)"


def test_nothing_to_combine_is_refused() -> None:
    with pytest.raises(UsageError, match="no reports to combine"):
        combine([])
