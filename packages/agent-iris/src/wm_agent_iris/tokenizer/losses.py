"""The tokenizer's loss. Equation 1 of the paper: reconstruction, codebook, commitment, perceptual."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_iris.tokenizer.lpips import LPIPSPerceptualLoss
from wm_agent_iris.tokenizer.quantizer import EMAQuantizer, perplexity
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer


@dataclass(frozen=True)
class TokenizerLoss:
    """`total` is to be minimised, a scalar with gradient; the others are its parts, unweighted, and health."""

    total: Tensor
    reconstruction: Tensor
    """|x - D(E(x))| or its square, averaged, in [-1, 1] space."""
    codebook: Tensor
    commitment: Tensor
    perceptual: Tensor
    perplexity: Tensor
    """Codes in use: 1 is a collapsed codebook, N all alike."""
    reseeded: Tensor
    """Dead codes re-seeded by this batch; always 0 with the gradient codebook."""

    def metrics(self) -> dict[str, Tensor]:
        """All of them by name, detached."""
        return {name: value.detach() for name, value in vars(self).items()}


def tokenizer_loss(
    tokenizer: IRISTokenizer,
    frames: Tensor,
    perceptual: LPIPSPerceptualLoss | None = None,
    generator: torch.Generator | None = None,
) -> TokenizerLoss:
    """The loss on frames (B, 3, S, S), uint8 or in [0, 1].

    In training mode an EMA codebook is updated here, with `generator` for its re-seeding. Raises `ValueError`
    when the configuration weighs a perceptual loss and none is given.
    """
    config = tokenizer.config
    if config.perceptual_weight and perceptual is None:
        raise ValueError(
            f"perceptual_weight={config.perceptual_weight}, but no perceptual loss is given: pass "
            "build_perceptual_loss(...), or set the weight to 0"
        )
    x = tokenizer.preprocess(frames)
    features = tokenizer.encoder_features(x)
    z = tokenizer.as_vectors(features)
    reseeded = torch.zeros((), device=x.device)
    if tokenizer.training and isinstance(tokenizer.quantizer, EMAQuantizer):
        reseeded = tokenizer.quantizer.update(z, generator)
    quantized = tokenizer.quantizer(z)
    y = tokenizer.decoder_output(tokenizer.as_map(quantized.straight_through)).float()

    distance = F.l1_loss if config.reconstruction_loss == "l1" else F.mse_loss
    reconstruction = distance(y, x)
    codebook = tokenizer.quantizer.codebook_loss(z.float(), quantized.codes.float())
    commitment = F.mse_loss(z.float(), quantized.codes.detach().float())
    seen = torch.zeros((), device=x.device)
    if config.perceptual_weight and perceptual is not None:
        seen = perceptual(y, x)
    total = reconstruction + codebook + config.commitment_weight * commitment + config.perceptual_weight * seen
    used = perplexity(quantized.tokens, config.vocabulary_size)
    return TokenizerLoss(total, reconstruction, codebook, commitment, seen, used, reseeded)
