"""MineDojo 0.1: programmatic tasks by name, creative ones by number, and the playthrough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from wm_core.envs.unknown import UnknownGame
from wm_core.specs import EnvSpec
from wm_env_minecraft.bridged_backend import BridgedBackend

PREFIX = "minedojo/"
MAX_FRAMES = 3000
"""MineDojo ends an episode at success or death only. This limit, 150 seconds of play, is ours."""

_TASK = re.compile(r"(?:harvest|combat|techtree|survival)(?:_[a-z0-9]+)*|creative:\d+|playthrough")
_EXAMPLES = (
    "harvest_milk",
    "harvest_wool_with_shears_and_sheep",
    "combat_spider_plains_leather_armors_diamond_sword_shield",
    "techtree_from_barehand_to_wooden_sword",
    "survival_sword_food",
    "creative:0",
    "playthrough",
)
_PICTURE = (160, 256)
"""(height, width) where none is asked for, as in MineDojo's own examples."""


class MineDojoBackend(BridgedBackend):
    """Serves `minedojo/TASK`, where TASK is what `minedojo.make` takes."""

    name: ClassVar[Literal["minerl", "minedojo"]] = "minedojo"

    def ids(self) -> Sequence[str]:
        """A few of the three thousand tasks; all are served."""
        return [f"{PREFIX}{task}" for task in _EXAMPLES]

    def resolve(self, game: str) -> EnvSpec:
        """64 x 64 RGB and 3000 frames. The prefix may be left out where the backend is named."""
        task = game.removeprefix(PREFIX)
        if not _TASK.fullmatch(task):
            raise UnknownGame(
                f"'{game}' is no task of MineDojo; tasks are called like {', '.join(self.ids()[:2])}, "
                f"{PREFIX}creative:0 or {PREFIX}playthrough"
            )
        return EnvSpec(
            requested=game,
            id=f"{PREFIX}{task}",
            backend="minedojo",
            observation="rgb",
            image_size=(64, 64),
            max_frames=MAX_FRAMES,
        )

    def task(self, spec: EnvSpec) -> str:
        """The id without its prefix."""
        return spec.id.removeprefix(PREFIX)

    def arguments(self, spec: EnvSpec) -> dict[str, Any]:
        """MineDojo draws its pictures in the size that is asked for."""
        return {"image_size": list(spec.image_size or _PICTURE)}
