"""One thread, and small agents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import (
    ActorCriticConfig,
    ImaginationConfig,
    IRISConfig,
    TokenizerConfig,
    WorldModelConfig,
)

torch.set_num_threads(1)
sys.path.append(str(Path(__file__).parent))

SMALL = IRISConfig(
    tokenizer=TokenizerConfig(
        image_size=16,
        channels=8,
        channel_multipliers=(1, 1, 2),
        residual_blocks=1,
        attention_resolutions=(8,),
        z_channels=8,
        vocabulary_size=12,
        embedding_dim=6,
        perceptual_weight=0.0,
    ),
    world_model=WorldModelConfig(timesteps=4, embedding_dim=16, layers=2, heads=2),
    actor_critic=ActorCriticConfig(channels=(4, 4), lstm_dim=8),
    imagination=ImaginationConfig(horizon=4, burn_in=2),
)


@pytest.fixture
def small_config() -> IRISConfig:
    return SMALL


@pytest.fixture
def agent() -> IRISAgent:
    """16x16 frames of 16 tokens out of 12, 3 actions. Its weights are wider than fresh ones, so outputs differ."""
    agent = IRISAgent.from_config(SMALL, action_size=3)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=generator))
    return agent


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
