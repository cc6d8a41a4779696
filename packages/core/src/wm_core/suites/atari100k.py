"""The Atari 100k benchmark. Imports neither numpy nor an emulator."""

from __future__ import annotations

from wm_core.specs import Suite, TrainBudget

GAMES = (
    "Alien",
    "Amidar",
    "Assault",
    "Asterix",
    "BankHeist",
    "BattleZone",
    "Boxing",
    "Breakout",
    "ChopperCommand",
    "CrazyClimber",
    "DemonAttack",
    "Freeway",
    "Frostbite",
    "Gopher",
    "Hero",
    "Jamesbond",
    "Kangaroo",
    "Krull",
    "KungFuMaster",
    "MsPacman",
    "Pong",
    "PrivateEye",
    "Qbert",
    "RoadRunner",
    "Seaquest",
    "UpNDown",
)

ATARI_100K = Suite(
    name="atari100k",
    summary="26 Atari games after 100,000 agent steps (400,000 frames, about two hours of play)",
    paper="arXiv:1903.00374",
    games={game: (f"ALE/{game}-v5",) for game in GAMES},
    backend="atari",
    protocol="atari100k",
    seeds=(0, 1, 2, 3, 4),
    episodes=100,
    budget=TrainBudget(steps=100_000),
    normalisation="human",
    baselines=("simple", "curl", "drq", "spr", "iris", "diamond", "dreamerv3"),
)
"""Kaiser et al. 2020. Five seeds and 100 final episodes are what IRIS (arXiv:2209.00588, section 3) reports."""
