"""Human and random scores of the Atari 100k games."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from wm_core.errors import UsageError
from wm_core.specs import EnvSpec


class Baseline(NamedTuple):
    """Game scores (undiscounted, unclipped returns) that human normalisation maps to 0 and to 1."""

    random: float
    human: float


ATARI_100K: Mapping[str, Baseline] = MappingProxyType(
    {
        "Alien": Baseline(random=227.8, human=7127.7),
        "Amidar": Baseline(random=5.8, human=1719.5),
        "Assault": Baseline(random=222.4, human=742.0),
        "Asterix": Baseline(random=210.0, human=8503.3),
        "BankHeist": Baseline(random=14.2, human=753.1),
        "BattleZone": Baseline(random=2360.0, human=37187.5),
        "Boxing": Baseline(random=0.1, human=12.1),
        "Breakout": Baseline(random=1.7, human=30.5),
        "ChopperCommand": Baseline(random=811.0, human=7387.8),
        "CrazyClimber": Baseline(random=10780.5, human=35829.4),
        "DemonAttack": Baseline(random=152.1, human=1971.0),
        "Freeway": Baseline(random=0.0, human=29.6),
        "Frostbite": Baseline(random=65.2, human=4334.7),
        "Gopher": Baseline(random=257.6, human=2412.5),
        "Hero": Baseline(random=1027.0, human=30826.4),
        "Jamesbond": Baseline(random=29.0, human=302.8),
        "Kangaroo": Baseline(random=52.0, human=3035.0),
        "Krull": Baseline(random=1598.0, human=2665.5),
        "KungFuMaster": Baseline(random=258.5, human=22736.3),
        "MsPacman": Baseline(random=307.3, human=6951.6),
        "Pong": Baseline(random=-20.7, human=14.6),
        "PrivateEye": Baseline(random=24.9, human=69571.3),
        "Qbert": Baseline(random=163.9, human=13455.0),
        "RoadRunner": Baseline(random=11.5, human=7845.0),
        "Seaquest": Baseline(random=68.4, human=42054.7),
        "UpNDown": Baseline(random=533.4, human=11693.2),
    }
)
"""The 26 games of the Atari 100k benchmark, with the scores published with IRIS (arXiv:2209.00588)."""

_BASELINE_FRAMES = 108_000

_ATARI_ID = re.compile(r"(?:ALE/)?([A-Za-z]+?)(?:-ram)?(?:NoFrameskip|Deterministic)?(?:-v\d+)?")


def is_normalisable(game: str) -> bool:
    """Whether the game has a human and a random score here, under any of its ids."""
    return _name(game) in ATARI_100K


def has_baselines(env: EnvSpec) -> bool:
    """Whether returns in this environment can be read against the baselines.

    They are of whole games in raw points, with a limit of 108,000 frames: a shorter limit, a lost life that ends the
    episode, clipped rewards, or another mode or difficulty of the game give other numbers.
    """
    whole = env.max_frames is None or env.max_frames >= _BASELINE_FRAMES
    altered = env.life_loss_ends_episode or env.clip_rewards or bool(env.options)
    return is_normalisable(env.id) and whole and not altered


def baseline(game: str) -> Baseline:
    """The scores of a game: `ALE/Pong-v5`, `Pong-v5`, `PongNoFrameskip-v4` and `Pong` are all Pong.

    An id of another namespace (`MinAtar/Freeway-v1`) is another game. Raises `UsageError` with the nearest names.
    """
    name = _name(game)
    if name not in ATARI_100K:
        near = difflib.get_close_matches(name, ATARI_100K, n=3) or sorted(ATARI_100K)
        raise UsageError(
            f"no human and random score for {game!r}: expected one of the 26 Atari 100k games, "
            f"such as {', '.join(near)}; report raw returns for other games"
        )
    return ATARI_100K[name]


def canonical_name(game: str) -> str:
    """`Pong` for every id of Pong: scores of games with baselines are kept by this name. Other ids stay as they are."""
    return _name(game) if is_normalisable(game) else game


def _name(game: str) -> str:
    match = _ATARI_ID.fullmatch(game)
    return match[1] if match else game
