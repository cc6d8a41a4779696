"""What a comparison writes: tables in four formats, curves, figures."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wm_core.errors import UsageError
from wm_core.metrics.published import packaged
from wm_core.reporting import figure_style
from wm_core.reporting.versus import write
from wm_core.reporting.versus.compute import compare
from wm_core.reporting.versus.contestants import contestants
from wm_core.reporting.versus.curve_figures import curve_figures
from wm_core.reporting.versus.curve_means import mean_curve, normalised
from wm_core.reporting.versus.model import Comparison, Curve
from wm_core.reporting.versus.write import write_comparison
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]
PNG, PDF = b"\x89PNG", b"%PDF"


def curve(label: str, game: str, seed: int, steps: tuple[int, ...], returns: tuple[float, ...]) -> Curve:
    return Curve(label=label, game=game, seed=seed, env_steps=steps, frames_per_step=4, mean_return=returns)


@pytest.fixture
def comparison(make_report: MakeReport) -> Comparison:
    """Two agents of two runs in two games, with a curve of each run, and SPR."""
    games = {"ALE/Pong-v5": [[1.0], [2.0]], "ALE/Boxing-v5": [[3.0], [4.0]]}
    reports = [make_report(games, planned=1, agent=name) for name in ("mine", "yours")]
    curves = [
        curve(name, game, seed, (100, 200, 300), (0.0, seed + 1.0, 3.0))
        for name in ("mine", "yours")
        for game in ("Pong", "Boxing")
        for seed in (0, 1)
    ]
    return compare(contestants(reports, ["runs/a", "runs/b"], [packaged()["spr"]]), curves=curves, num_samples=50)


def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "can_draw", lambda: False)
    monkeypatch.setattr(figure_style, "can_draw", lambda: False)


def test_all_tables_are_in_markdown_and_latex_with_their_sources(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_matplotlib(monkeypatch)
    write_comparison(comparison, tmp_path)
    markdown, latex = (tmp_path / "comparison.md").read_text(), (tmp_path / "comparison.tex").read_text()
    for title in ("Comparison of mine, yours, SPR", "Scores of each game", "Probability of improvement"):
        assert title in markdown
        assert title in latex
    assert "run directory, runs/a" in markdown
    assert "arXiv:2108.13264" in latex
    assert "![" not in markdown


def test_without_matplotlib_everything_else_is_written(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_matplotlib(monkeypatch)
    names = {path.name for path in write_comparison(comparison, tmp_path)}
    assert names == {"learning_curves.csv", *(f"comparison.{kind}" for kind in ("json", "csv", "md", "tex"))}
    assert not (tmp_path / "figures").exists()


def test_where_figures_cannot_be_drawn_the_tables_are_there(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise UsageError("matplotlib does not load")

    pytest.importorskip("matplotlib")
    monkeypatch.setattr("wm_core.reporting.versus.figures.pyplot", broken)
    with pytest.raises(UsageError, match="does not load"):
        write_comparison(comparison, tmp_path)
    assert {path.suffix for path in tmp_path.glob("comparison.*")} == {".json", ".csv", ".md", ".tex"}


def test_json_is_read_back_as_it_was(tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    without_matplotlib(monkeypatch)
    write_comparison(comparison, tmp_path)
    assert Comparison.model_validate_json((tmp_path / "comparison.json").read_text()) == comparison


def test_csv_has_a_row_for_each_number_in_full(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_matplotlib(monkeypatch)
    write_comparison(comparison, tmp_path)
    rows = list(csv.DictReader((tmp_path / "comparison.csv").read_text().splitlines()))
    scores = [row for row in rows if row["statistic"] == "score" and row["agent"] == "mine"]
    assert [(row["game"], float(row["value"])) for row in scores] == [
        ("Pong", 1.0),
        ("Pong", 2.0),
        ("Boxing", 3.0),
        ("Boxing", 4.0),
    ]
    (mean,) = [row for row in rows if row["statistic"] == "mean" and row["agent"] == "SPR"]
    expected = next(each.mean for each in comparison.aggregates if each.label == "SPR")
    assert expected is not None
    assert float(mean["value"]) == expected.point
    assert mean["lo"] == ""
    assert mean["refused"].startswith("only per-game means")
    (improvement,) = [
        row for row in rows if row["statistic"] == "probability_of_improvement" and row["other"] == "yours"
    ]
    assert (float(improvement["value"]), float(improvement["lo"])) == (0.5, comparison.pairs[0].probability.lo)


def test_curves_are_written_over_steps_and_frames(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_matplotlib(monkeypatch)
    write_comparison(comparison, tmp_path)
    rows = list(csv.DictReader((tmp_path / "learning_curves.csv").read_text().splitlines()))
    assert len(rows) == 24
    assert rows[1] == {
        "agent": "mine",
        "game": "Pong",
        "seed": "0",
        "env_steps": "200",
        "frames": "800.0",
        "mean_return": "1.0",
    }


def test_figures_are_vectors_and_pixels_beside_the_tables(tmp_path: Path, comparison: Comparison) -> None:
    pytest.importorskip("matplotlib")
    files = [path for path in write_comparison(comparison, tmp_path) if path.parent.name == "figures"]
    assert {path.stem for path in files} == {
        "aggregates",
        "performance_profiles",
        "probability_of_improvement",
        "learning_curves",
        "learning_curves_by_game",
    }
    assert len(files) == 10
    for path in files:
        assert path.read_bytes().startswith(PNG if path.suffix == ".png" else PDF)
    assert "![aggregates](figures/aggregates.png)" in (tmp_path / "comparison.md").read_text()


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = []
    for attempt in ("first", "second"):
        figure, panel = figure_style.pyplot().subplots(figsize=(1, 1))
        panel.plot([0, 1], [1, 2], **figure_style.look(3))
        files.append([path.read_bytes() for path in figure_style.save(figure, tmp_path / attempt)])
    assert files[0] == files[1]


def test_no_two_of_32_agents_look_alike() -> None:
    assert len({tuple(figure_style.look(place).values()) for place in range(32)}) == 32


def test_the_legend_of_all_games_names_agents_that_lack_the_first(comparison: Comparison) -> None:
    pytest.importorskip("matplotlib")
    curves = tuple(each for each in comparison.curves if (each.label, each.game) != ("mine", "Pong"))
    named = comparison.model_copy(update={"curves": curves})
    figures = dict(curve_figures(figure_style.pyplot(), named))
    (legend,) = figures["learning_curves_by_game"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["mine (2 runs)", "yours (2 runs)"]
    for figure in figures.values():
        figure_style.pyplot().close(figure)


def test_a_curve_is_the_mean_where_all_its_runs_were_evaluated() -> None:
    runs = [curve("a", "Pong", 0, (0, 100, 200), (0.0, 10.0, 20.0)), curve("a", "Pong", 1, (50, 150), (1.0, 3.0))]
    steps, means = mean_curve(runs)
    assert steps.tolist() == [50, 100, 150]
    assert [interval.point for interval in means] == [3.0, 6.0, 9.0]


def test_runs_that_do_not_overlap_have_no_common_curve() -> None:
    steps, means = mean_curve([curve("a", "Pong", 0, (0, 10), (0, 1)), curve("a", "Pong", 1, (20, 30), (0, 1))])
    assert (steps.size, means) == (0, [])


def test_a_normalised_curve_is_on_the_human_scale() -> None:
    assert normalised(curve("a", "Pong", 0, (0, 1), (-20.7, 14.6))).mean_return == pytest.approx((0.0, 1.0))


def test_a_comparison_of_published_means_alone_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_matplotlib(monkeypatch)
    write_comparison(compare(contestants([], [], [packaged()["iris"], packaged()["spr"]])), tmp_path)
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert len(found["games"]) == 26
    assert found["profiles"] == []


def test_a_matplotlib_that_does_not_load_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_style, "can_draw", lambda: True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"matplotlib is installed and does not load .* install it again"):
        figure_style.pyplot()
