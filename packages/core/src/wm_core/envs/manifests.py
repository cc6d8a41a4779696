"""Manifests of the built-in backends. Imports neither numpy, gymnasium nor an emulator."""

from __future__ import annotations

from wm_core.envs.games import ATARI_GAMES, CLASSIC_GAMES
from wm_core.specs import EnvManifest

ATARI = EnvManifest(
    name="atari",
    backend="wm_core.envs.atari:AtariBackend",
    summary="Atari 2600 games in the Arcade Learning Environment",
    patterns=(
        "ALE/*",
        *(f"{game}-v5" for game in ATARI_GAMES),
        *(f"{game}-v[04]" for game in CLASSIC_GAMES),
        *(f"{game}NoFrameskip-v[04]" for game in CLASSIC_GAMES),
    ),
)

GYMNASIUM = EnvManifest(
    name="gymnasium",
    backend="wm_core.envs.gymnasium_backend:GymnasiumBackend",
    summary="Every environment registered with Gymnasium, and 'module:Id-v0' ids",
    patterns=("*",),
)
