"""Checkpoints are found by the names of games, one a game or one a seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from wm_core.errors import UsageError
from wm_core.specs import Suite
from wm_core.suites.atari100k import ATARI_100K
from wm_core.suites.checkpoints import find_checkpoints

TWO = Suite(name="two", games={"catch": ("catch/0", "catch/1")})


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    return path


@pytest.mark.parametrize("name", ["Pong.pt", "Pong-v5.safetensors", "ALE_Pong-v5.pt", "Pong", "Pong.best.pt"])
def test_a_game_has_one_checkpoint_under_any_of_its_names(tmp_path: Path, name: str) -> None:
    path = touch(tmp_path / name)
    assert find_checkpoints(tmp_path, ATARI_100K).shared == {"ALE/Pong-v5": path}


def test_a_directory_without_seeds_is_a_checkpoint_itself(tmp_path: Path) -> None:
    touch(tmp_path / "Pong" / "model.safetensors")
    assert find_checkpoints(tmp_path, ATARI_100K).shared == {"ALE/Pong-v5": tmp_path / "Pong"}


def test_each_seed_may_have_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    first, second = touch(tmp_path / "Pong" / "seed-0.pt"), touch(tmp_path / "Pong" / "seed-12" / "weights.npz").parent
    touch(tmp_path / "Pong" / "notes.txt")
    found = find_checkpoints(tmp_path, ATARI_100K)
    assert found.own == {"ALE/Pong-v5": {0: first, 12: second}}
    assert not found.shared


def test_ids_that_end_alike_are_told_apart_by_their_whole_name(tmp_path: Path) -> None:
    path = touch(tmp_path / "catch_1.pt")
    assert find_checkpoints(tmp_path, TWO).shared == {"catch/1": path}


def test_names_of_no_game_are_told(tmp_path: Path) -> None:
    touch(tmp_path / "Pong.pt")
    touch(tmp_path / "Pnog.pt")
    touch(tmp_path / ".hidden")
    assert find_checkpoints(tmp_path, ATARI_100K).unused == ["Pnog.pt"]


@pytest.mark.parametrize("names", [("Pong.pt", "Pong.safetensors"), ("Pong.pt", "Pong/seed-0.pt")])
def test_two_checkpoints_of_one_game_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        touch(tmp_path / name)
    with pytest.raises(UsageError, match="are both checkpoints of ALE/Pong-v5"):
        find_checkpoints(tmp_path, ATARI_100K)


def test_two_checkpoints_of_one_seed_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "Pong" / "seed-0.pt")
    touch(tmp_path / "Pong" / "seed-00.pt")
    with pytest.raises(UsageError, match="are both checkpoints of seed 0"):
        find_checkpoints(tmp_path, ATARI_100K)


def test_no_directory_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no directory of checkpoints at .*Alien\.pt"):
        find_checkpoints(tmp_path / "none", ATARI_100K)


def test_a_directory_without_any_of_the_games_is_refused(tmp_path: Path) -> None:
    touch(tmp_path / "readme.md")
    with pytest.raises(UsageError, match="has no checkpoint of a game of atari100k"):
        find_checkpoints(tmp_path, ATARI_100K)
