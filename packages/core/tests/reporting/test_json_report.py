"""benchmark_results.json: its schema, and the way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from wm_core.errors import StoreError
from wm_core.reporting import read_report, report_schema, write_report
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def check(instance: object) -> None:
    jsonschema.Draft202012Validator(report_schema()).validate(instance)


def test_a_written_report_keeps_to_the_published_schema(tmp_path: Path, make_report: MakeReport) -> None:
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:wmbench:schema:report:1"
    assert schema["title"] == "wmbench report"
    reports = [make_report(), make_report({"wm/A": [[1.0], []], "wm/B": [[], []]}, failures=["lost"], checkpoints={})]
    for report in reports:
        check(json.loads(write_report(report, tmp_path)[0].read_text()))


def test_the_schema_refuses_fields_it_does_not_know(make_report: MakeReport) -> None:
    values = make_report().model_dump(mode="json")
    check(values)
    with pytest.raises(jsonschema.ValidationError):
        check(values | {"score": 1.0})


def test_a_report_reads_back_as_it_was(tmp_path: Path, make_report: MakeReport) -> None:
    report = make_report({"ALE/Pong-v5": [[0.1 + 0.2, 1 / 3, -1e-17]]})
    assert read_report(write_report(report, tmp_path)[0]) == report


def test_the_means_of_the_seeds_are_where_readers_look_for_them(tmp_path: Path, make_report: MakeReport) -> None:
    written = json.loads(write_report(make_report(), tmp_path)[0].read_text())
    assert written["aggregate"]["per_seed_means"] == pytest.approx([59 / 3, 50.5 / 3])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_named_and_nothing_is_written(
    value: float, tmp_path: Path, make_report: MakeReport
) -> None:
    report = make_report()
    seed = report.games[0].seeds[1].model_copy(update={"std": value})
    game = report.games[0].model_copy(update={"seeds": (report.games[0].seeds[0], seed)})
    with pytest.raises(StoreError, match=r"games\[0\]\.seeds\[1\]\.std of the report is"):
        write_report(report.model_copy(update={"games": (game,)}), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file or directory; expected a benchmark_results.json"),
        ("", "the file as a whole"),
        ('{"format": "wmbench.report/2"}', "format: Input should be 'wmbench.report/1'"),
        ("\xff", "it is not text"),
    ],
)
def test_what_is_no_report_is_refused_by_name(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "benchmark_results.json"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreError) as caught:
        read_report(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_directory_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Is a directory"):
        read_report(tmp_path)


def test_a_file_with_nan_in_it_is_refused(tmp_path: Path, make_report: MakeReport) -> None:
    path = write_report(make_report(), tmp_path)[0]
    path.write_text(path.read_text().replace('"wall_time_s": 1.5', '"wall_time_s": NaN'))
    with pytest.raises(StoreError, match=rf"wall_time_s of {path} is nan"):
        read_report(path)
