"""Dreamer V1, V2 and V3 (Hafner et al. 2020, 2021, 2023): one world model, and a policy trained in its imagination."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_agent_dreamer.agent import DreamerAgent as DreamerAgent
    from wm_agent_dreamer.config import DreamerConfig as DreamerConfig
    from wm_agent_dreamer.learner import DreamerLearner as DreamerLearner
    from wm_agent_dreamer.player import DreamerPlayer as DreamerPlayer
    from wm_agent_dreamer.presets import preset as preset
    from wm_agent_dreamer.trainer import DreamerTrainer as DreamerTrainer

_PUBLIC = {
    "DreamerAgent": "agent",
    "DreamerConfig": "config",
    "DreamerLearner": "learner",
    "DreamerPlayer": "player",
    "DreamerTrainer": "trainer",
    "preset": "presets",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the manifests are read without torch (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wm_agent_dreamer' has no attribute {name!r}")
    return getattr(import_module(f"wm_agent_dreamer.{_PUBLIC[name]}"), name)
