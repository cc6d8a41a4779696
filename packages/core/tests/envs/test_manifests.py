"""Manifests are light, and their data agrees with what is installed."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatchcase

import ale_py
import gymnasium
import pytest

from wm_core import registry
from wm_core.envs.games import ATARI_100K, ATARI_GAMES, CLASSIC_GAMES
from wm_core.envs.manifests import ATARI, GYMNASIUM

gymnasium.register_envs(ale_py)


def test_importing_the_manifests_imports_nothing_heavy() -> None:
    heavy = ("numpy", "gymnasium", "ale_py", "cv2", "PIL", "torch")
    code = (
        "import sys; import wm_core.envs.manifests, wm_core.envs.catch; "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_104_games_are_those_with_a_v5_id() -> None:
    assert len(ATARI_GAMES) == 104
    assert {f"ALE/{game}-v5" for game in ATARI_GAMES} == {id_ for id_ in gymnasium.registry if id_.startswith("ALE/")}


def test_the_62_classic_games_are_those_with_older_ids() -> None:
    suffix = "NoFrameskip-v4"
    assert {id_.removesuffix(suffix) for id_ in gymnasium.registry if id_.endswith(suffix)} == set(CLASSIC_GAMES)


def test_atari_100k_is_26_classic_games() -> None:
    assert len(set(ATARI_100K)) == 26
    assert set(ATARI_100K) <= set(CLASSIC_GAMES)


@pytest.mark.parametrize(
    "game", ["ALE/Pong-v5", "Pong-v5", "Pong-v0", "Pong-v4", "PongNoFrameskip-v0", "PongNoFrameskip-v4", "Tetris-v5"]
)
def test_the_atari_backend_claims(game: str) -> None:
    assert any(fnmatchcase(game, pattern) for pattern in ATARI.patterns)


@pytest.mark.parametrize("game", ["Pong-v1", "PongNoFrameskip-v5", "Tetris-v4", "CartPole-v1", "wm/Catch-v0"])
def test_the_atari_backend_does_not_claim(game: str) -> None:
    assert not any(fnmatchcase(game, pattern) for pattern in ATARI.patterns)


def test_gymnasium_is_the_fallback() -> None:
    assert GYMNASIUM.patterns == ("*",)


@pytest.mark.parametrize("name", ["atari", "catch", "gymnasium"])
def test_every_listed_id_resolves(name: str) -> None:
    backend = registry.load_backend(name)
    for game in backend.ids():
        assert backend.resolve(game).id == game
