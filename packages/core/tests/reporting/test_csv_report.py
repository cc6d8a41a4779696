"""benchmark_results.csv: a row for every seed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.reporting.csv_report import to_csv
from wm_core.reporting.formatting import one_line
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def rows(*reports: RunReport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(reports))))


def test_a_row_holds_what_a_seed_gave_and_how(make_report: MakeReport) -> None:
    row = rows(make_report())[1]
    assert (row["agent"], row["game"], row["requested"], row["seed"]) == ("iris", "ALE/Pong-v5", "Pong-v5", "1")
    assert (row["episodes_measured"], row["episodes_planned"]) == ("3", "3")
    assert float(row["return_mean"]) == pytest.approx(50.5 / 3)
    assert (row["return_min"], row["return_max"], row["length_mean"]) == ("15.0", "19.0", "101.0")
    assert (row["terminated"], row["truncated"], row["untrained"]) == ("2", "1", "false")
    assert float(row["human_normalised"]) == pytest.approx((50.5 / 3 + 20.7) / (14.6 + 20.7))
    assert (row["protocol"], row["checkpoint"], row["checkpoint_sha256"]) == (
        "atari100k",
        "weights/Pong-v5.pt",
        "ab12" * 16,
    )
    assert (row["device"], row["num_envs"], row["version"]) == ("cpu", "2", "0.1.0")
    assert json.loads(row["env"])["image_size"] == [64, 64]
    assert json.loads(row["versions"])["python"] == "3.11.7"
    assert row["seeds_vary"].startswith("evaluation only")


def test_a_seed_that_was_not_measured_has_empty_fields_and_its_failure(make_report: MakeReport) -> None:
    report = make_report({"wm/Catch-v0": [[1.0, 2.0], []]}, planned=2, failures=["the game went away"], untrained=True)
    row = rows(report)[1]
    assert row["episodes_measured"] == "0"
    assert row["return_mean"] == row["return_std"] == row["return_min"] == row["human_normalised"] == ""
    assert row["failures"] == "wm/Catch-v0, seed 1, episode 1: AgentFailure: the game went away"
    assert rows(report)[0]["failures"] == ""
    assert row["untrained"] == "true"


def test_an_incomplete_seed_has_no_human_normalised_score(make_report: MakeReport) -> None:
    assert rows(make_report({"ALE/Pong-v5": [[1.0]]}, planned=2))[0]["human_normalised"] == ""


def test_several_reports_share_one_header(make_report: MakeReport) -> None:
    found = rows(make_report(), make_report(agent="diamond"))
    assert [row["agent"] for row in found] == ["iris", "iris", "diamond", "diamond"]


@settings(deadline=None, max_examples=50)
@given(text=st.text())
def test_any_name_stays_in_its_field_and_on_its_line(
    make_report: MakeReport, renamed: Callable[[RunReport, str], RunReport], text: str
) -> None:
    report = renamed(make_report(), text)
    assert to_csv([report]).count("\n") == 3
    assert [row["agent"] for row in rows(report)] == [one_line(text)] * 2
