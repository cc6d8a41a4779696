"""Genie (Bruce et al., 2024): latent actions from video alone, and a world that is played with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_agent_genie.agent import GenieAgent as GenieAgent
    from wm_agent_genie.config import GenieConfig as GenieConfig
    from wm_agent_genie.dream import DreamSession as DreamSession
    from wm_agent_genie.dynamics import DynamicsModel as DynamicsModel
    from wm_agent_genie.latent_action_model import LatentActionModel as LatentActionModel
    from wm_agent_genie.metrics.world_model import evaluate_world_model as evaluate_world_model
    from wm_agent_genie.policy import GeniePolicy as GeniePolicy
    from wm_agent_genie.st_transformer import STTransformer as STTransformer
    from wm_agent_genie.tokenizer import VideoTokenizer as VideoTokenizer

_PUBLIC = {
    "DreamSession": "dream",
    "DynamicsModel": "dynamics",
    "GenieAgent": "agent",
    "GenieConfig": "config",
    "GeniePolicy": "policy",
    "LatentActionModel": "latent_action_model",
    "STTransformer": "st_transformer",
    "VideoTokenizer": "tokenizer",
    "evaluate_world_model": "metrics.world_model",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the manifest is read without torch (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wm_agent_genie' has no attribute {name!r}")
    return getattr(import_module(f"wm_agent_genie.{_PUBLIC[name]}"), name)
