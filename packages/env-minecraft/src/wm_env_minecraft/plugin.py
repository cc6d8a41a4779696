"""The manifests: what wmbench knows before it imports a game."""

from __future__ import annotations

from wm_core.specs import EnvManifest

MINERL = EnvManifest(
    name="minerl",
    backend="wm_env_minecraft.minerl_backend:MineRLBackend",
    summary="Minecraft tasks of MineRL 0.4 and 1.0, in MineRL's own Python",
    patterns=("MineRL*", "minerl/*"),
)

MINEDOJO = EnvManifest(
    name="minedojo",
    backend="wm_env_minecraft.minedojo_backend:MineDojoBackend",
    summary="Minecraft tasks of MineDojo, in MineDojo's own Python",
    patterns=("minedojo/*",),
)

CRAFTER = EnvManifest(
    name="crafter",
    backend="wm_env_minecraft.crafter_backend:CrafterBackend",
    summary="Crafter: a Minecraft-like survival game in two dimensions, which runs anywhere",
    patterns=("crafter/*",),
)
