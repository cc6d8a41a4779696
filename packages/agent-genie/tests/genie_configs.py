"""Small agents, for tests."""

from __future__ import annotations

import torch
from torch import nn

from wm_agent_genie.config import (
    DynamicsConfig,
    GenieConfig,
    LatentActionConfig,
    PolicyConfig,
    QuantizerConfig,
    STTransformerConfig,
    TokenizerConfig,
)

TRANSFORMER = STTransformerConfig(layers=2, embedding_dim=16, heads=2)
SMALL = GenieConfig(
    image_size=(12, 8),
    clip_frames=5,
    tokenizer=TokenizerConfig(
        patch_size=4,
        encoder=TRANSFORMER,
        decoder=TRANSFORMER,
        quantizer=QuantizerConfig(codes=11, code_dim=4),
    ),
    latent_actions=LatentActionConfig(
        patch_size=4,
        encoder=TRANSFORMER,
        decoder=TRANSFORMER,
        quantizer=QuantizerConfig(codes=3, code_dim=4),
    ),
    dynamics=DynamicsConfig(
        transformer=TRANSFORMER.model_copy(update={"qk_norm": True}), steps=3, temperature=1.0, choice_temperature=1.0
    ),
    policy=PolicyConfig(patch_size=4, transformer=TRANSFORMER, hidden_dim=16, context=3),
)


def widen(module: nn.Module, seed: int = 5) -> None:
    """Add noise to all weights, so that all that can matter does."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.4 * torch.randn(parameter.shape, generator=noise))
