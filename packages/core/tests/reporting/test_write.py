"""The files of a report as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wm_core.errors import StoreError, UsageError
from wm_core.reporting import write_combined, write_report
from wm_core.reporting.facts import TIMES
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def without_times(path: Path) -> str:
    """A file less what differs between two equal runs."""
    text = path.read_text()
    if path.suffix == ".json":
        values = json.loads(text)
        for report in values.get("reports", [values]):
            report["wall_time_s"] = report["provenance"]["started"] = report["provenance"]["command"] = None
        return json.dumps(values)
    starts = tuple(f"{prefix}{label}: " for prefix in ("- ", "% ") for label in TIMES)
    return "\n".join(line for line in text.splitlines() if not line.startswith(starts))


def test_the_four_files_are_written_and_named(tmp_path: Path, make_report: MakeReport) -> None:
    paths = write_report(make_report(), tmp_path / "new")
    assert [path.name for path in paths] == [f"benchmark_results.{suffix}" for suffix in ("json", "csv", "md", "tex")]
    assert sorted(paths) == sorted((tmp_path / "new").iterdir())


def test_the_combined_files_are_written_and_named(tmp_path: Path, make_report: MakeReport) -> None:
    paths = write_combined([make_report(), make_report(agent="diamond", env={"noop_max": 30})], tmp_path)
    assert [path.suffix for path in paths] == [".json", ".csv", ".md", ".tex"]
    assert {path.stem for path in paths} == {"combined_benchmark_results"}
    written = json.loads(paths[0].read_text())
    assert written["format"] == "wmbench.combined/1"
    assert [report["agent"] for report in written["reports"]] == ["iris", "diamond"]
    for path in (paths[0], paths[2], paths[3]):
        assert "ot to be read against each other" in path.read_text()


def test_equal_runs_give_equal_files_but_for_the_times(tmp_path: Path, make_report: MakeReport) -> None:
    first = make_report({"ALE/Pong-v5": [[1.0, 2.0, 3.0], [4.0]]}, failures=["it broke"])
    provenance = first.provenance.model_copy(update={"started": "2030-01-01T00:00:00+00:00", "command": "other -x"})
    second = first.model_copy(update={"provenance": provenance, "wall_time_s": 99.0})
    written = [
        [*write_report(report, tmp_path / name), *write_combined([report, report], tmp_path / name)]
        for name, report in (("a", first), ("b", second))
    ]
    for one, other in zip(*written, strict=True):
        assert without_times(one) == without_times(other), one.name
        assert (one.read_text() == other.read_text()) == (one.suffix == ".csv")


@pytest.mark.parametrize("suffix", ["json", "csv", "md", "tex"])
def test_every_file_says_what_a_reader_must_know(suffix: str, tmp_path: Path, make_report: MakeReport) -> None:
    report = make_report({"wm/Catch-v0": [[1.0, 2.0, 3.0], [4.0]]}, failures=["the game went away"], preset="tiny")
    report = report.model_copy(update={"notes": ("versions changed",), "untrained": True})
    write_report(report, tmp_path)
    text = (tmp_path / f"benchmark_results.{suffix}").read_text().replace("\\", "")
    for fact in ("untrained", "atari100k", "frame_skip", "ab12ab12ab12", "cpu", "num_envs", "0.12.1", "tiny"):
        assert fact in text, fact
    for fact in ("evaluation only", "the game went away", "versions changed", "weights/Catch-v0.pt", "2000"):
        assert fact in text or (suffix == "csv" and fact == "2000"), fact
    covered = {"json": '"measured": 4,\n    "planned": 6', "csv": ",1,3,", "md": "4/6", "tex": "4/6"}
    assert covered[suffix] in text


def test_nothing_to_combine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no reports"):
        write_combined([], tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, make_report: MakeReport) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match=r"benchmark_results\.json"):
        write_report(make_report(), tmp_path / "taken")
