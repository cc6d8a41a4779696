"""Manifest of the embedded environment. The game itself is in `catch_env`."""

from __future__ import annotations

from wm_core.specs import EnvManifest

CATCH = EnvManifest(
    name="catch",
    backend="wm_core.envs.catch_env:CatchBackend",
    summary="Catch, the embedded default: ten rows, five columns, one falling ball",
    patterns=("wm/Catch-v0",),
)
