"""A configuration whose updates take milliseconds."""

from __future__ import annotations

from wm_agent_iris.config import (
    ActorCriticConfig,
    ImaginationConfig,
    IRISConfig,
    TokenizerConfig,
    WorldModelConfig,
)

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
