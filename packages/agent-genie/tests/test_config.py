"""Architectures of the paper, built without memory."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.config import GenieConfig, STTransformerConfig, TokenizerConfig


def matrices(module: torch.nn.Module) -> int:
    """Numbers in the weights of its blocks."""
    return sum(p.numel() for name, p in module.named_parameters() if ".blocks." in f".{name}" and p.dim() == 2)


def test_the_default_is_the_papers_full_model() -> None:
    """Section 3 and Appendix C: layers, heads, width."""
    with torch.device("meta"):
        agent = GenieAgent(GenieConfig())
    shapes = {
        name: (len(transformer.blocks), transformer.config.heads, transformer.config.embedding_dim)
        for name, transformer in {
            "tokenizer encoder": agent.tokenizer.encoder,
            "tokenizer decoder": agent.tokenizer.decoder,
            "latent action encoder": agent.latent_action_model.encoder,
            "latent action decoder": agent.latent_action_model.decoder,
            "dynamics": agent.dynamics.transformer,
        }.items()
    }
    assert shapes == {
        "tokenizer encoder": (12, 8, 512),
        "tokenizer decoder": (20, 16, 1024),
        "latent action encoder": (20, 16, 1024),
        "latent action decoder": (20, 16, 1024),
        "dynamics": (48, 36, 5120),
    }
    assert agent.dynamics.transformer.blocks[0].spatial.qkv.weight.shape == (3 * 36 * 128, 5120)
    assert agent.tokenizer.quantizer.codebook.shape == (1024, 32)
    assert agent.latent_action_model.quantizer.codebook.shape == (8, 32)


def test_a_block_of_width_d_has_16_d_squared_weights() -> None:
    """Twice 4 d^2 for attention and 8 d^2 for the feed-forward."""
    with torch.device("meta"):
        agent = GenieAgent(GenieConfig())
    assert matrices(agent.tokenizer.encoder) == 12 * 16 * 512**2
    assert matrices(agent.latent_action_model.decoder) == 20 * 16 * 1024**2


def test_a_policy_that_looks_back_further_than_a_clip_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"policy\.context=4 is more than"):
        GenieConfig(clip_frames=3)


def test_a_frame_of_one_token_is_refused() -> None:
    with pytest.raises(ValidationError, match="use smaller patches"):
        GenieConfig(image_size=(8, 8), tokenizer=TokenizerConfig(patch_size=8))


def test_only_the_dynamics_model_normalises_queries_and_keys() -> None:
    config = GenieConfig()
    assert config.dynamics.transformer.qk_norm
    assert not config.tokenizer.encoder.qk_norm
    assert STTransformerConfig(layers=1, embedding_dim=5120, heads=36, head_dim=128).attention_dim == 4608
