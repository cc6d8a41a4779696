"""The Python in which the game lives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from wm_core.errors import UsageError

VARIABLE = "WM_MINECRAFT_PYTHON"


def game_python(asked: str | Path | None = None) -> Path:
    """The interpreter that was `asked` for, or `WM_MINECRAFT_PYTHON`; `UsageError` where there is none."""
    named = str(asked) if asked is not None else os.environ.get(VARIABLE, "")
    if not named:
        raise UsageError(
            f"MineRL and MineDojo run in a Python of their own: set {VARIABLE} to its interpreter, "
            "and see `wmbench doctor` for what it needs"
        )
    found = shutil.which(os.path.expanduser(named))
    if found is None:
        raise UsageError(f"{VARIABLE} is '{named}', which is no executable; expected a path like venv/bin/python")
    return Path(found).absolute()
