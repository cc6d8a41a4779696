"""The Crafter score (Hafner 2021, arXiv:2109.06780, section 3): how many achievements, and how reliably."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

ACHIEVEMENTS = (
    "collect_coal",
    "collect_diamond",
    "collect_drink",
    "collect_iron",
    "collect_sapling",
    "collect_stone",
    "collect_wood",
    "defeat_skeleton",
    "defeat_zombie",
    "eat_cow",
    "eat_plant",
    "make_iron_pickaxe",
    "make_iron_sword",
    "make_stone_pickaxe",
    "make_stone_sword",
    "make_wood_pickaxe",
    "make_wood_sword",
    "place_furnace",
    "place_plant",
    "place_stone",
    "place_table",
    "wake_up",
)
"""All 22."""


def success_rates(episodes: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Percentage of the episodes in which each achievement was reached at least once, 0 to 100.

    An episode is the number of times each was reached. Raises `ValueError` without episodes, or where one lacks an
    achievement: a missing count is no zero.
    """
    if not episodes:
        raise ValueError("success rates of no episodes; expected at least one")
    for number, episode in enumerate(episodes):
        if missing := [name for name in ACHIEVEMENTS if name not in episode]:
            raise ValueError(f"episode {number} has no count of {', '.join(missing)}; was it played in Crafter?")
    return {name: 100.0 * sum(episode[name] >= 1 for episode in episodes) / len(episodes) for name in ACHIEVEMENTS}


def crafter_score(rates: Mapping[str, float]) -> float:
    """`exp(mean(ln(1 + s_i))) - 1` over the success rates s_i in percent: 0 to 100."""
    return math.expm1(math.fsum(math.log1p(rates[name]) for name in ACHIEVEMENTS) / len(ACHIEVEMENTS))
