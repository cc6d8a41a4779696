"""`make_minecraft_env`: a Minecraft task in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium

from wm_core.errors import UsageError
from wm_env_minecraft.actions import ActionSet
from wm_env_minecraft.bridge import Timeouts
from wm_env_minecraft.minedojo_backend import PREFIX, MineDojoBackend
from wm_env_minecraft.minerl_backend import MineRLBackend

_BACKENDS = {"minerl": MineRLBackend, "minedojo": MineDojoBackend}


def make_minecraft_env(
    task: str,
    *,
    backend: str | None = None,
    image_size: tuple[int, int] | None = (64, 64),
    action_set: ActionSet | None = None,
    python: str | Path | None = None,
    timeouts: Timeouts | None = None,
) -> gymnasium.Env[Any, Any]:
    """A task of MineRL ('MineRLTreechop-v0') or, with `backend="minedojo"`, of MineDojo ('harvest_milk').

    Observations are uint8 RGB `(*image_size, 3)`, `image_size` being (height, width) in pixels or None for the game's
    own; actions are `Discrete(13)`, or one for each entry of `action_set`. The game runs in the interpreter `python`,
    or in `WM_MINECRAFT_PYTHON`. Raises `UsageError` for a wrong request, `EnvironmentFailure` where the game does not
    start.
    """
    name = backend or ("minedojo" if task.startswith(PREFIX) else "minerl")
    if name not in _BACKENDS:
        raise UsageError(f"there is no Minecraft backend '{name}'; there are: {', '.join(_BACKENDS)}")
    served = _BACKENDS[name]()
    options = {} if action_set is None else {"action_set": action_set}
    spec = served.resolve(task).model_copy(update={"image_size": image_size, "options": options})
    return served.make(spec, python=python, timeouts=timeouts)
