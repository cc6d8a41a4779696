"""MineRL 0.4 (Treechop, Navigate, Obtain...) and MineRL 1.0 (BASALT, ObtainDiamondShovel)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from wm_core.envs.unknown import UnknownGame, nearest
from wm_core.specs import EnvSpec
from wm_env_minecraft.bridged_backend import BridgedBackend

PREFIX = "minerl/"
STEP_LIMITS = {
    "MineRLTreechop-v0": 8000,
    "MineRLNavigate-v0": 6000,
    "MineRLNavigateDense-v0": 6000,
    "MineRLNavigateExtreme-v0": 6000,
    "MineRLNavigateExtremeDense-v0": 6000,
    "MineRLObtainDiamond-v0": 18000,
    "MineRLObtainDiamondDense-v0": 18000,
    "MineRLObtainIronPickaxe-v0": 6000,
    "MineRLObtainIronPickaxeDense-v0": 6000,
    "MineRLObtainDiamondShovel-v0": 18000,
    "MineRLBasaltFindCave-v0": 3600,
    "MineRLBasaltMakeWaterfall-v0": 6000,
    "MineRLBasaltCreatePlainsAnimalPen-v0": 6000,
    "MineRLBasaltCreateVillageAnimalPen-v0": 6000,
    "MineRLBasaltBuildVillageHouse-v0": 14400,
}
"""Tasks with named keys -> steps of an episode, of 50 ms each, as MineRL registers them."""


class MineRLBackend(BridgedBackend):
    """Serves `MineRL...` ids, which may be written `minerl/MineRL...` too."""

    name: ClassVar[Literal["minerl", "minedojo"]] = "minerl"

    def ids(self) -> Sequence[str]:
        """The tasks with named keys; the obfuscated ones have none."""
        return list(STEP_LIMITS)

    def resolve(self, game: str) -> EnvSpec:
        """64 x 64 RGB and the task's own limit."""
        task = game.removeprefix(PREFIX)
        if task not in STEP_LIMITS:
            near = nearest(task, STEP_LIMITS)
            hint = f"did you mean {', '.join(near)}?" if near else f"it has: {', '.join(STEP_LIMITS)}"
            raise UnknownGame(f"the 'minerl' backend has no '{game}'; {hint}")
        return EnvSpec(
            requested=game,
            id=task,
            backend="minerl",
            observation="rgb",
            image_size=(64, 64),
            max_frames=STEP_LIMITS[task],
        )

    def task(self, spec: EnvSpec) -> str:
        """The id itself."""
        return spec.id

    def arguments(self, spec: EnvSpec) -> dict[str, Any]:
        """None: a task's picture has the size that MineRL gives it, and is resized here."""
        return {}
