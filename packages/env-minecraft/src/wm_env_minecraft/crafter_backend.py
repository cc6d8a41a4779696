"""`crafter/Reward-v1` and `crafter/NoReward-v1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.envs.unknown import UnknownGame
from wm_core.specs import EnvSpec
from wm_env_minecraft.crafter_env import AREA, SIZE, Crafter

_REWARDED = {"crafter/Reward-v1": True, "crafter/NoReward-v1": False}
MAX_FRAMES = 10_000
"""Steps of an episode in the paper, section 3."""


class CrafterBackend:
    """Serves `crafter/*`."""

    def ids(self) -> Sequence[str]:
        """The two."""
        return list(_REWARDED)

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """None: the ids mean what the paper does."""
        return {}

    def resolve(self, game: str) -> EnvSpec:
        """64 x 64 RGB and 10,000 steps, as published."""
        if game not in _REWARDED:
            raise UnknownGame(f"the 'crafter' backend has no '{game}'; it has: {', '.join(_REWARDED)}")
        return EnvSpec(
            requested=game,
            id=game,
            backend="crafter",
            observation="rgb",
            image_size=(SIZE, SIZE),
            max_frames=MAX_FRAMES,
        )

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for what means nothing here."""
        check_numbers(spec)
        check_unset(spec, (*EMULATOR_FIELDS, "options"))

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """Crafter draws at 64 x 64; another size is resized from it."""
        self.check(spec)
        return preprocess(Crafter(_REWARDED[spec.id], AREA), spec)
