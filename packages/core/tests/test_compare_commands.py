"""`wmbench baselines`, `compare` and `report` with published results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wm_core.cli.main import cli
from wm_core.errors import UsageError
from wm_core.metrics.published import packaged

SCORES = {"A": {"Pong": [10.0, 12.0, 14.0], "Boxing": [50, 60, 70]}, "B": {"Pong": [-5, 0, 5], "Boxing": [1, 2, 3]}}


def wmbench(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert (result.return_value or 0) == code, result.output
    return result


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    (tmp_path / "all.json").write_text(json.dumps({"what": "scores", "runs": SCORES}))
    wmbench("baselines", "import", tmp_path / "all.json", "--out", tmp_path / "scores")
    return tmp_path / "scores"


def random_run(directory: Path, seeds: int = 2) -> Path:
    wmbench("run", "-a", "random", "-g", "wm/Catch-v0", "--seeds", seeds, "-n", 1, "--out-dir", directory)
    return directory


def test_baselines_are_listed_with_their_sources() -> None:
    listed = wmbench("baselines").output
    for each in packaged().values():
        assert each.source in listed
    assert [each["name"] for each in json.loads(wmbench("baselines", "--json").output)] == list(packaged())


def test_imported_scores_are_a_file_for_each_agent(imported: Path) -> None:
    assert sorted(path.name for path in imported.iterdir()) == ["A.json", "B.json"]
    assert json.loads((imported / "A.json").read_text())["runs"]["Boxing"] == [50, 60, 70]


def test_importing_again_changes_nothing_and_other_scores_are_not_written_over(imported: Path, tmp_path: Path) -> None:
    again = wmbench("baselines", "import", tmp_path / "all.json", "--out", imported)
    assert "A, 2 games, 3 runs each" in again.output
    (tmp_path / "A.json").write_text('{"Pong": [1, 2]}')
    with pytest.raises(UsageError, match=r"A\.json holds other scores; remove it, or use another --name or --out"):
        wmbench("baselines", "import", tmp_path / "A.json", "--out", imported)


def test_is_a_better_than_b_is_answered_in_one_line(imported: Path) -> None:
    answer = wmbench("compare", imported / "A.json", imported / "B.json")
    assert answer.stdout.startswith("yes, A is better than B: P(A > B) = 1.000 [1.000, 1.000], difference of IQM +")
    assert answer.stdout.count("\n") == 1
    assert wmbench("compare", imported / "B.json", imported / "A.json").stdout.startswith("no, A is better than B")


def test_the_answer_is_json_for_machines(imported: Path) -> None:
    answer = json.loads(wmbench("compare", f"{imported.parent}/all.json:A", "SPR", "--json").stdout)
    assert answer["event"] == "compare"
    assert (answer["x"], answer["y"], answer["verdict"]) == ("A", "SPR", "undecided")
    assert answer["games"] == ["Boxing", "Pong"]
    assert answer["probability"]["lo"] is None
    assert "only per-game means" in answer["probability"]["refused"]


def test_two_runs_are_said_to_be_few(tmp_path: Path) -> None:
    (tmp_path / "few.json").write_text('{"Pong": [1, 2]}')
    answer = wmbench("compare", tmp_path / "few.json", "spr")
    assert "two runs of few in a game say little of their spread" in answer.stderr


def test_a_file_of_several_agents_must_be_narrowed(imported: Path) -> None:
    with pytest.raises(UsageError, match=r"all\.json holds several agents; name one, e\.g\. .*all\.json:A"):
        wmbench("compare", imported.parent / "all.json", "spr")


def test_a_run_is_compared_with_another(tmp_path: Path) -> None:
    answer = wmbench("compare", random_run(tmp_path / "a"), random_run(tmp_path / "b"))
    assert answer.stdout.startswith("undecided between random")
    assert "over wm/Catch-v0; 95% bootstrap" in answer.stdout


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run; give one run directory"):
        wmbench("compare", tmp_path, "spr")


def test_runs_without_a_common_game_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="share no game with complete runs"):
        wmbench("compare", random_run(tmp_path / "a"), "spr")


def test_reports_of_two_runs_are_compared_where_they_are_sent(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [random_run(tmp_path / name) for name in ("a", "b")]
    done = wmbench("report", *runs, "--out-dir", tmp_path / "c")
    assert "P(X > Y)" in done.stdout
    assert {path.name for path in (tmp_path / "c").iterdir()} == {
        "figures",
        *(f"comparison.{kind}" for kind in ("json", "csv", "md", "tex")),
    }
    assert (tmp_path / "c" / "figures" / "aggregates.pdf").exists()


def test_a_report_with_a_baseline_without_common_games_has_no_aggregate_and_says_so(tmp_path: Path) -> None:
    run = random_run(tmp_path / "a")
    done = wmbench("report", run, "-b", "iris,spr")
    assert "there is no game of which everyone has a complete run" in " ".join(done.stdout.split())
    assert json.loads((run / "comparison.json").read_text())["games"] == []


def test_an_unknown_baseline_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run = random_run(tmp_path / "a")
    (run / "benchmark_results.md").unlink()
    with pytest.raises(UsageError, match="no baseline 'iriss'; did you mean iris"):
        wmbench("report", run, "--baseline", "iriss")
    assert not (run / "benchmark_results.md").exists()
