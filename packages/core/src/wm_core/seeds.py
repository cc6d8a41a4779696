"""Seeds of episodes. Each episode has its own, so it is the same in any order, lane, process or machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_MAX_SEED = 2**31 - 1
"""The Arcade Learning Environment takes signed 32-bit seeds."""


class EpisodeSeeds(NamedTuple):
    """What one episode starts from, each in [0, 2**31 - 1)."""

    env: int
    policy: int


def episode_seeds(seed: int, episode: int) -> EpisodeSeeds:
    """Seeds of the `episode`-th episode of a cell, from `numpy.random.SeedSequence(seed)`'s child of that number."""
    words = np.random.SeedSequence(seed, spawn_key=(episode,)).generate_state(2, np.uint64)
    return EpisodeSeeds(env=int(words[0] % _MAX_SEED), policy=int(words[1] % _MAX_SEED))
