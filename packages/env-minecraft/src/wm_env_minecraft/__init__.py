"""Minecraft for wmbench: MineRL and MineDojo in their own Python, and Crafter in this one.

This module, `wire`, `processes` and `server` also run in the games' interpreters: Python 3.8 syntax, and nothing but
the standard library and numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_env_minecraft.factory import make_minecraft_env

__all__ = ["make_minecraft_env"]


def __getattr__(name: str) -> Any:
    """Import what needs the harness when it is asked for: the games' interpreters have none of it."""
    if name == "make_minecraft_env":
        from wm_env_minecraft.factory import make_minecraft_env

        return make_minecraft_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
