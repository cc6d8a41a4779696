from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import UsageError
from wm_core.metrics import human_normalise, superhuman_count
from wm_core.metrics.baselines import ATARI_100K, baseline, is_normalisable


def test_the_benchmark_has_26_games() -> None:
    assert len(ATARI_100K) == 26


@pytest.mark.parametrize(
    ("game", "random", "human"),
    [
        ("Alien", 227.8, 7127.7),
        ("Boxing", 0.1, 12.1),
        ("Freeway", 0.0, 29.6),
        ("Hero", 1027.0, 30826.4),
        ("Pong", -20.7, 14.6),
        ("PrivateEye", 24.9, 69571.3),
        ("UpNDown", 533.4, 11693.2),
    ],
)
def test_baselines_are_the_published_scores(game: str, random: float, human: float) -> None:
    assert ATARI_100K[game] == (random, human)


@pytest.mark.parametrize(
    "game",
    ["Pong", "Pong-v5", "ALE/Pong-v5", "PongNoFrameskip-v4", "PongDeterministic-v4", "ALE/Pong-ram-v5"],
)
def test_every_id_of_a_game_finds_its_baseline(game: str) -> None:
    assert baseline(game) == ATARI_100K["Pong"]


@pytest.mark.parametrize("game", ["ALE/Tetris-v5", "MinAtar/Freeway-v1", "catch/0", "CartPole-v1", "", "Pong-v5 "])
def test_other_games_are_not_normalisable(game: str) -> None:
    assert not is_normalisable(game)


def test_an_unknown_game_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(UsageError, match=r"'ALE/Pongg-v5'.*26 Atari 100k games.*Pong"):
        human_normalise("ALE/Pongg-v5", [1.0])


@pytest.mark.parametrize("game", sorted(ATARI_100K))
def test_random_maps_to_zero_and_human_to_one(game: str) -> None:
    np.testing.assert_allclose(human_normalise(game, ATARI_100K[game]), [0.0, 1.0], atol=1e-12)


def test_normalisation_keeps_the_shape() -> None:
    assert human_normalise("Pong", np.zeros((3, 2))).shape == (3, 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.sampled_from(sorted(ATARI_100K)))
@settings(deadline=None, max_examples=50)
def test_normalisation_can_be_undone(scores: list[float], game: str) -> None:
    random, human = ATARI_100K[game]
    np.testing.assert_allclose(human_normalise(game, scores) * (human - random) + random, scores, atol=1e-6)


def test_a_mean_equal_to_the_human_score_is_superhuman() -> None:
    pong = human_normalise("Pong", [13.7, 15.5, 14.1, 15.1, 14.6])
    assert superhuman_count({"Pong": pong, "Alien": [0.999, 1.0]}) == 1


def test_superhuman_is_decided_by_the_mean_over_runs_and_not_by_the_best_run() -> None:
    assert superhuman_count({"a": [0.0, 1.5], "b": [0.5, 1.5, 1.5], "c": [3.0]}) == 2
