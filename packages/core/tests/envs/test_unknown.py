"""The ids that a mistyped one may have meant."""

from __future__ import annotations

import pytest

from wm_core.envs.unknown import nearest

IDS = [
    *(f"{experiment}/{number}" for experiment in ("bandit", "catch", "deep_sea") for number in range(4)),
    *("ALE/Pong-v5", "Pong-v4", "Pong-v0"),
]


@pytest.mark.parametrize(
    ("game", "meant"),
    [
        ("cath/2", ["catch/2", "catch/3", "catch/1"]),
        ("catch/9", ["catch/3", "catch/2", "catch/1"]),
        ("bsuite/catch/0", ["catch/0", "catch/3", "catch/2"]),
        ("deepsea", ["deep_sea/3", "deep_sea/2", "deep_sea/1"]),
        ("pong", ["ALE/Pong-v5", "Pong-v4", "Pong-v0"]),
        ("Pomg-v4", ["Pong-v4", "ALE/Pong-v5", "Pong-v0"]),
        ("qwxyz/0", []),
    ],
)
def test_the_name_is_compared_and_the_number_preferred(game: str, meant: list[str]) -> None:
    assert nearest(game, IDS) == meant
