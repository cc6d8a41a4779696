"""Named configurations of each version."""

from __future__ import annotations

from wm_agent_dreamer import presets_v1, presets_v2, presets_v3
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.presets_tiny import TINY_IMAGE_SIZE
from wm_core.errors import UsageError

PRESETS = {"dreamerv1": presets_v1.PRESETS, "dreamerv2": presets_v2.PRESETS, "dreamerv3": presets_v3.PRESETS}
_ATARI = {"dreamerv1": "atari", "dreamerv2": "atari", "dreamerv3": "atari100k"}
_OTHERS = {"dreamerv1": "dmc", "dreamerv2": "dmc", "dreamerv3": "size12m"}
_IMAGE_SIZE = 64


def default_preset(agent: str, backend: str) -> str:
    """The preset where none is named: `tiny` on the built-in Catch, which is for trying out; else a published one."""
    if backend == "catch":
        return "tiny"
    return _ATARI[agent] if backend == "atari" else _OTHERS[agent]


def preset(agent: str, name: str) -> DreamerConfig:
    """The configuration of a preset's name; `UsageError` for any other."""
    if agent not in PRESETS:
        raise UsageError(f"there is no '{agent}' among the Dreamers; choose one of {', '.join(PRESETS)}")
    if name not in PRESETS[agent]:
        raise UsageError(f"{agent} has no preset '{name}'; choose one of {', '.join(PRESETS[agent])}")
    return PRESETS[agent][name]


def image_size(name: str) -> tuple[int, int]:
    """Height and width, in pixels, at which a preset's agent is shown a game that comes in any size."""
    size = TINY_IMAGE_SIZE if name == "tiny" else _IMAGE_SIZE
    return size, size
