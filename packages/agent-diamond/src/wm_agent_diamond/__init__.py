"""DIAMOND (Alonso et al., NeurIPS 2024): a diffusion world model in pixels, and a policy trained in its dreams."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_agent_diamond.actor_critic import ActorCritic as ActorCritic
    from wm_agent_diamond.agent import DiamondAgent as DiamondAgent
    from wm_agent_diamond.config import DiamondConfig as DiamondConfig
    from wm_agent_diamond.denoiser import Denoiser as Denoiser
    from wm_agent_diamond.imagination import Imagination as Imagination
    from wm_agent_diamond.presets import preset as preset
    from wm_agent_diamond.replay import DiamondReplayBuffer as DiamondReplayBuffer
    from wm_agent_diamond.replay import to_images as to_images
    from wm_agent_diamond.rew_end_model import RewEndModel as RewEndModel
    from wm_agent_diamond.trainer import DiamondTrainer as DiamondTrainer

_PUBLIC = {
    "ActorCritic": "actor_critic",
    "Denoiser": "denoiser",
    "DiamondAgent": "agent",
    "DiamondConfig": "config",
    "DiamondReplayBuffer": "replay",
    "DiamondTrainer": "trainer",
    "Imagination": "imagination",
    "RewEndModel": "rew_end_model",
    "preset": "presets",
    "to_images": "replay",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the manifest is read without torch (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wm_agent_diamond' has no attribute {name!r}")
    return getattr(import_module(f"wm_agent_diamond.{_PUBLIC[name]}"), name)
