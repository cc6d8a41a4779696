"""IRIS (Micheli, Alonso, Fleuret, ICLR 2023): a world model of tokens, and a policy trained in its dreams."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_agent_iris.actor_critic import IRISActorCritic as IRISActorCritic
    from wm_agent_iris.actor_critic_loss import compute_lambda_return as compute_lambda_return
    from wm_agent_iris.agent import IRISAgent as IRISAgent
    from wm_agent_iris.config import IRISConfig as IRISConfig
    from wm_agent_iris.presets import preset as preset
    from wm_agent_iris.replay import IRISReplayBuffer as IRISReplayBuffer
    from wm_agent_iris.tokenizer.decoder import IRISDecoder as IRISDecoder
    from wm_agent_iris.tokenizer.encoder import IRISEncoder as IRISEncoder
    from wm_agent_iris.tokenizer.lpips import LPIPSPerceptualLoss as LPIPSPerceptualLoss
    from wm_agent_iris.tokenizer.lpips import build_perceptual_loss as build_perceptual_loss
    from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer as IRISTokenizer
    from wm_agent_iris.trainer import IRISTrainer as IRISTrainer
    from wm_agent_iris.world_model.transformer import IRISTransformer as IRISTransformer
    from wm_agent_iris.world_model.world_model import IRISWorldModel as IRISWorldModel

_PUBLIC = {
    "IRISActorCritic": "actor_critic",
    "IRISAgent": "agent",
    "IRISConfig": "config",
    "IRISDecoder": "tokenizer.decoder",
    "IRISEncoder": "tokenizer.encoder",
    "IRISReplayBuffer": "replay",
    "IRISTokenizer": "tokenizer.tokenizer",
    "IRISTrainer": "trainer",
    "IRISTransformer": "world_model.transformer",
    "IRISWorldModel": "world_model.world_model",
    "LPIPSPerceptualLoss": "tokenizer.lpips",
    "build_perceptual_loss": "tokenizer.lpips",
    "compute_lambda_return": "actor_critic_loss",
    "preset": "presets",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the manifest is read without torch (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wm_agent_iris' has no attribute {name!r}")
    return getattr(import_module(f"wm_agent_iris.{_PUBLIC[name]}"), name)
