"""Published results: the packaged ones, and files of scores."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import UsageError
from wm_core.metrics import human_normalise
from wm_core.metrics.baselines import ATARI_100K, canonical_name
from wm_core.metrics.published import find_baseline, find_baselines, packaged, read_scores

PRINTED = {
    # Mean and median human-normalised score, as printed: Table 1 of arXiv:2405.12399 (its means), the tables of
    # arXiv:2209.00588 (SimPLe, CURL, DrQ, SPR, IRIS), arXiv:2303.07109 (TWM) and arXiv:2310.09615 (DreamerV3, percent)
    "simple": (0.332, 0.134),
    "curl": (0.261, 0.092),
    "drq": (0.465, 0.313),
    "spr": (0.616, 0.396),
    "twm": (0.956, 0.505),
    "iris": (1.046, 0.289),
    "dreamerv3": (1.12, 0.49),
    "storm": (1.266, None),
    "diamond": (1.459, None),
}


def write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_every_packaged_result_has_all_26_games_and_a_source() -> None:
    assert list(packaged())[:3] == ["random", "human", "simple"]
    for each in packaged().values():
        assert list(each.means) == list(ATARI_100K)
        assert "arXiv:" in each.source
        assert each.paper.startswith("arXiv:")
        assert each.rounding


@pytest.mark.parametrize("name", PRINTED)
def test_packaged_scores_give_the_mean_and_median_that_papers_print(name: str) -> None:
    scores = [float(human_normalise(game, [score])[0]) for game, score in packaged()[name].means.items()]
    mean, median = PRINTED[name]
    assert statistics.fmean(scores) == pytest.approx(mean, abs=0.005 if name == "dreamerv3" else 0.0005)
    if median is not None:
        assert statistics.median(scores) == pytest.approx(median, abs=0.005 if name == "dreamerv3" else 0.001)


def test_packaged_random_and_human_are_those_of_human_normalisation() -> None:
    assert packaged()["random"].means == {game: each.random for game, each in ATARI_100K.items()}
    assert packaged()["human"].means == {game: each.human for game, each in ATARI_100K.items()}
    assert [each.name for each in packaged().values() if each.reference] == ["random", "human"]


def test_a_file_of_games_is_one_agent_called_like_the_file(tmp_path: Path) -> None:
    (found,) = read_scores(write(tmp_path / "mine.json", {"ALE/Pong-v5": [1, 2.5], "wm/Catch-v0": [0.5]}))
    assert (found.name, found.label) == ("mine", "mine")
    assert found.runs == {"Pong": (1.0, 2.5), "wm/Catch-v0": (0.5,)}
    assert found.means == {}


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_file_of_agents_keeps_their_names(tmp_path: Path, wrapped: bool) -> None:
    agents = {"A": {"Pong": [1.0]}, "B": {"Pong": [2.0], "Alien": [3.0]}}
    path = write(tmp_path / "all.json", {"what": "scores", "runs": agents} if wrapped else agents)
    assert [(each.name, sorted(each.runs)) for each in read_scores(path)] == [("A", ["Pong"]), ("B", ["Alien", "Pong"])]
    assert [each.name for each in find_baseline(f"{path}:B")] == ["B"]


NAMES = st.text(min_size=1, max_size=5).filter(lambda name: canonical_name(name).strip())


@given(st.dictionaries(NAMES, st.lists(st.floats(-1e9, 1e9), min_size=1), min_size=1))
@settings(deadline=None, max_examples=20)
def test_what_was_read_can_be_written_and_read_again(games: dict[str, list[float]]) -> None:
    import tempfile

    games.pop("format", None)
    games = games or {"Pong": [1.0]}
    with tempfile.TemporaryDirectory() as directory:
        (found,) = read_scores(write(Path(directory) / "a.json", games))
        (again,) = read_scores(write(Path(directory) / "b.json", found.model_dump_json()))
    assert again == found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[1", "is not JSON"),
        ([1, 2], "holds a list; expected"),
        ({}, "holds an object"),
        ({"Pong": 1}, "'Pong' of mine holds the number 1; expected a list of finite numbers"),
        ({"Pong": []}, "'Pong' of mine holds an empty list"),
        ({"Pong": [1, "x"]}, "'Pong' of mine holds text in a list"),
        ({"Pong": [True]}, "true or false in a list"),
        ('{"Pong": [NaN]}', "the number nan in a list"),
        ('{"Pong": [1e999]}', "the number inf in a list"),
        ({"Pong": [1], "ALE/Pong-v5": [2]}, "has Pong twice, the second time as 'ALE/Pong-v5'"),
        ({"A": {}, "B": {"Pong": [1]}}, "results 'A' have no games"),
        ({"runs": {}}, "has no results under 'runs'"),
        ({" ": [1]}, "mine has a game without a name (' ')"),
        ({"format": "wmbench.scores/1", "name": "a"}, "is no wmbench.scores/1: label: Field required"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_was_expected(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_scores(write(tmp_path / "mine.json", value))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_before_the_scores_is_read_over(tmp_path: Path) -> None:
    (found,) = read_scores(write(tmp_path / "mine.json", '\ufeff{"Pong": [1]}'))
    assert found.scores == {"Pong": (1.0,)}


def test_an_empty_name_is_refused_rather_than_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="have no name"):
        read_scores(write(tmp_path / "mine.json", {"Pong": [1]}), name="")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.json: No such file"):
        find_baseline(str(tmp_path / "none.json"))


def test_an_unknown_name_gets_the_nearest_and_all() -> None:
    with pytest.raises(UsageError, match=r"no baseline 'dremerv3'; did you mean dreamerv3\? .* random, human"):
        find_baseline("dremerv3")


def test_names_are_separated_by_commas_in_any_case_and_counted_once() -> None:
    assert [each.name for each in find_baselines(["IRIS, spr", "iris"])] == ["iris", "spr"]
