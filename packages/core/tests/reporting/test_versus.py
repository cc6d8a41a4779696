"""Agents against each other and against published results."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wm_core.errors import UsageError
from wm_core.metrics.baselines import ATARI_100K
from wm_core.metrics.published import packaged, read_scores
from wm_core.reporting.versus.compute import compare, pair
from wm_core.reporting.versus.contestants import MEANS, contestants
from wm_core.reporting.versus.tables import aggregates_table, games_tables, pairs_table
from wm_core.specs import Interval, RunReport

MakeReport = Callable[..., RunReport]

# rliable 1.2.0 on the scores by formula: 95%, 20,000 resamples (2,000 for the probability of improvement)
RLIABLE = {
    "alpha": {
        "mean": (1.2009414918904773, 0.9769159577665057, 1.437449007994742),
        "median": (1.163739520538518, 0.6401681567210972, 1.2481885205284118),
        "iqm": (0.6310635247119173, 0.47849221136665077, 0.8337525266132997),
        "optimality_gap": (0.4777401917132633, 0.41549213592944934, 0.5382521935489454),
    },
    "beta": {
        "mean": (1.4191164612440945, 1.2443268815438484, 1.5982232524502265),
        "median": (1.377849035375447, 1.0763076901282476, 1.617575199726422),
        "iqm": (0.9526862723493452, 0.8112311879646791, 1.1183668399901152),
        "optimality_gap": (0.3270403777050478, 0.2855657497118401, 0.36955588606059386),
    },
}
RLIABLE_IMPROVEMENT = (0.5913461538461539, 0.5317307692307692, 0.6490625)
RLIABLE_PROFILES = {
    "alpha": [0.8538461538461538, 0.6538461538461539, 0.5153846153846153, 0.34615384615384615, 0.2076923076923077],
    "beta": [0.9471153846153846, 0.8028846153846154, 0.6538461538461539, 0.4567307692307692, 0.24519230769230768],
}


def uniform(name: str, *shape: int) -> np.ndarray:
    places = np.arange(1, math.prod(shape) + 1, dtype=np.float64)
    wave = np.sin(12.9898 * places + (zlib.crc32(name.encode()) % 10007)) * 43758.5453
    return (2 * (wave - np.floor(wave)) - 1).reshape(shape)


def raw_scores(name: str, runs: int, shift: float) -> dict[str, list[float]]:
    """Raw game scores whose human-normalised values are the scores by formula."""
    scores = np.exp(1.4 * uniform(name, runs, 26) + 0.8 * uniform(f"{name}.game", 1, 26)) - 0.4 + shift
    return {
        game: (each.random + column * (each.human - each.random)).tolist()
        for (game, each), column in zip(ATARI_100K.items(), scores.T, strict=True)
    }


def numbers(interval: Interval | None) -> tuple[float | None, ...]:
    assert interval is not None
    return (interval.point, interval.lo, interval.hi)


def texts(table: object) -> list[list[str]]:
    return [[entry.text for entry in row] for group in table.groups for row in group]  # type: ignore[attr-defined]


def test_imported_scores_reproduce_rliable(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"beta": raw_scores("beta", 8, 0.15), "alpha": raw_scores("alpha", 5, 0.0)}))
    found = compare(contestants([], [], read_scores(path)), num_samples=20_000)
    assert len(found.games) == 26
    for statistics in found.aggregates:
        for name, expected in RLIABLE[statistics.label].items():
            interval = numbers(getattr(statistics, name))
            assert interval[0] == pytest.approx(expected[0], abs=1e-6)
            assert interval == pytest.approx(expected, abs=0.01)
    for profile in found.profiles:
        at = dict(zip(found.taus, profile.points, strict=True))
        points = [at[tau].point for tau in (0.0, 0.25, 0.5, 1.0, 2.0)]
        assert points == pytest.approx(RLIABLE_PROFILES[profile.label], abs=1e-12)
    (improvement,) = found.pairs
    assert (improvement.x, improvement.y) == ("beta", "alpha")
    assert numbers(improvement.probability) == pytest.approx(RLIABLE_IMPROVEMENT, abs=0.01)


def test_published_means_have_points_and_say_why_they_have_no_interval() -> None:
    found = compare(contestants([], [], [packaged()["iris"], packaged()["spr"]]))
    for statistics in found.aggregates:
        assert statistics.mean is not None
        assert statistics.mean.lo is None
        assert statistics.mean.refused == MEANS
        assert statistics.iqm is None
        assert statistics.optimality_gap is None
    assert found.profiles == ()
    assert found.pairs[0].iqm is None
    assert found.pairs[0].probability.refused == f"of IRIS, {MEANS}"
    assert any("no interval, IQM, optimality gap or profile of IRIS, SPR" in note for note in found.notes)


def test_aggregates_are_over_the_games_that_all_have_and_the_others_are_named(make_report: MakeReport) -> None:
    games = {"ALE/Pong-v5": [[1.0], [2.0]], "ALE/Boxing-v5": [[3.0], [4.0]], "ALE/Alien-v5": [[], []]}
    report = make_report(games, planned=1)
    found = compare(contestants([report], ["runs/x"], [packaged()["iris"]]))
    assert found.games == ("Boxing", "Pong")
    assert len(found.left_out) == 24
    assert found.left_out["Alien"] == ("iris",)
    assert any(note.startswith("not in the aggregates: Alien, Amidar") for note in found.notes)
    rows = texts(aggregates_table(found))
    assert [row[:4] for row in rows] == [["iris", "2/3", "4/4", "4/6"], ["IRIS (paper)", "2/26", "means", "—"]]


def test_an_incomplete_run_is_left_out_and_lowers_the_coverage(make_report: MakeReport) -> None:
    report = make_report({"ALE/Pong-v5": [[1.0, 2.0], [9.0]]}, planned=2)
    found = compare(contestants([report], ["runs/x"], [packaged()["spr"]]))
    assert found.contestants[0].scores == {"Pong": (1.5,)}
    assert texts(aggregates_table(found))[0][1:4] == ["1/1", "1/2", "3/4"]


def test_a_game_under_other_rules_is_not_read_against_published_scores(make_report: MakeReport) -> None:
    report = make_report({"ALE/Pong-v5": [[1.0], [2.0]]}, planned=1, env={"max_frames": 1000})
    found = compare(contestants([report], ["runs/x"], [packaged()["spr"]]))
    assert found.games == ()
    assert found.pairs == ()
    assert found.contestants[0].altered == ("ALE/Pong-v5",)
    assert any(note.startswith("ALE/Pong-v5 of iris: played under rules") for note in found.notes)


def test_games_without_human_scores_are_compared_run_by_run_but_not_averaged(make_report: MakeReport) -> None:
    games = {"wm/Catch-v0": [[1.0], [0.0]], "wm/Other-v0": [[5.0], [6.0]]}
    better = make_report({game: [[run[0] + 1] for run in runs] for game, runs in games.items()}, planned=1, agent="b")
    found = compare(contestants([make_report(games, planned=1), better], ["a", "b"], []))
    assert found.scale == "none"
    assert found.aggregates[0].mean is None
    assert found.pairs[0].probability.point == pytest.approx((0.125 + 0.125) / 2)
    table = pairs_table(found)
    assert table is not None
    assert texts(table)[0][-1] == "—"


def test_the_best_agent_of_a_game_is_bold_and_a_human_never(make_report: MakeReport) -> None:
    report = make_report({"ALE/Alien-v5": [[1000.0], [2000.0]]}, planned=1)
    found = compare(contestants([report], ["runs/x"], [packaged()["human"], packaged()["spr"]]))
    (table,) = games_tables(found)
    alien = next(row for group in table.groups for row in group if row[0].text == "Alien")
    assert [entry.bold for entry in alien] == [False, True, False, False]
    assert alien[1].text == "1500.0 ± 707.1"


def test_runs_are_paired_with_everyone_after_them_and_published_results_not_with_each_other(
    make_report: MakeReport,
) -> None:
    report = make_report({"ALE/Pong-v5": [[1.0], [2.0]]}, planned=1, agent="mine")
    found = compare(contestants([report], ["runs/x"], [packaged()["spr"], packaged()["curl"]]))
    assert [(each.x, each.y) for each in found.pairs] == [("mine", "SPR"), ("mine", "CURL")]


def test_no_common_game_is_an_error_that_says_what_each_has(make_report: MakeReport) -> None:
    report = make_report({"wm/Catch-v0": [[1.0], [0.0]]}, planned=1)
    x, y = contestants([report], ["runs/x"], [packaged()["spr"]])
    with pytest.raises(UsageError, match="share no game with complete runs: iris has wm/Catch-v0; SPR has Alien"):
        pair(x, y)


def test_a_single_run_refuses_the_interval_in_the_agents_name(make_report: MakeReport) -> None:
    one = make_report({"ALE/Pong-v5": [[1.0]]}, planned=1, agent="one")
    two = make_report({"ALE/Pong-v5": [[1.0], [2.0]]}, planned=1, agent="two")
    x, y = contestants([one, two], ["a", "b"], [])
    refused = pair(x, y).probability.refused
    assert refused is not None
    assert refused.startswith("one has a single run of Pong")


def test_agents_keep_their_order_and_no_two_share_a_label(make_report: MakeReport) -> None:
    reports = [make_report({"ALE/Pong-v5": [[1.0]]}, planned=1, agent=name) for name in ("zeta", "iris")]
    found = contestants(reports, ["a", "b"], [packaged()["iris"], packaged()["curl"]])
    assert [each.label for each in found] == ["zeta", "iris", "IRIS (paper)", "CURL"]
