"""The quantizer: feature vectors to the nearest of N codes. Section 2.1; van den Oord et al. (2017).

Two ways for the codes to learn: by the gradient of the codebook loss (the published way), or as exponential
moving averages of the vectors assigned to them, with dead codes re-seeded.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Quantized(NamedTuple):
    """What the quantizer gives for M vectors."""

    tokens: Tensor
    """int64 (M,), the nearest code's index; the lowest one on ties."""
    codes: Tensor
    """(M, d), the codes themselves."""
    straight_through: Tensor
    """(M, d), the codes' values with the gradient of the vectors."""


class Quantizer(nn.Module):
    """Codebook of N codes of dimension d, learned by gradient. Starts uniform in [-1/N, 1/N]."""

    def __init__(self, vocabulary_size: int, embedding_dim: int) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.codebook = nn.Parameter(torch.empty(vocabulary_size, embedding_dim))
        nn.init.uniform_(self.codebook, -1.0 / vocabulary_size, 1.0 / vocabulary_size)

    def nearest(self, z: Tensor) -> Tensor:
        """Vectors (M, d) to tokens (M,) by squared distance, in float32 whatever the precision around it."""
        with torch.no_grad(), torch.autocast(z.device.type, enabled=False):
            codes = self.codebook.float()
            # |z|^2 is the same for all codes and is left out.
            distances = torch.addmm(codes.square().sum(1), z.float(), codes.t(), alpha=-2)
            return distances.argmin(dim=1)

    def forward(self, z: Tensor) -> Quantized:
        """Quantize vectors (M, d)."""
        tokens = self.nearest(z)
        codes = F.embedding(tokens, self.codebook)
        return Quantized(tokens, codes, z + (codes - z).detach())

    def codebook_loss(self, z: Tensor, codes: Tensor) -> Tensor:
        """|sg(z) - e|^2, averaged: what moves the codes."""
        return F.mse_loss(codes, z.detach())


class EMAQuantizer(Quantizer):
    """Codebook learned as moving averages; call `update` with the vectors of each training batch.

    Codes whose averaged number of uses a batch falls below `dead_code_threshold` are re-seeded at vectors of the
    batch, drawn in proportion to their squared distance from the nearest code. Before the first batch all are
    dead, so the codebook starts from encoder outputs.
    """

    cluster_size: Tensor
    cluster_sum: Tensor

    def __init__(self, vocabulary_size: int, embedding_dim: int, decay: float, dead_code_threshold: float) -> None:
        super().__init__(vocabulary_size, embedding_dim)
        self.codebook.requires_grad_(False)
        self.decay = decay
        self.dead_code_threshold = dead_code_threshold
        self.register_buffer("cluster_size", torch.full((vocabulary_size,), -1.0))
        self.register_buffer("cluster_sum", self.codebook.detach().clone())

    @torch.no_grad()
    def update(self, z: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Move the codes towards vectors (M, d); the number of codes re-seeded, as a tensor.

        `generator` is on the device of `z`.
        """
        z = z.detach().float()
        reseeded = self._reseed(z, generator)
        assignment = F.one_hot(self.nearest(z), self.vocabulary_size).to(z.dtype)
        with torch.autocast(z.device.type, enabled=False):
            sums = assignment.t() @ z
        self.cluster_size.lerp_(assignment.sum(0), 1 - self.decay)
        self.cluster_sum.lerp_(sums, 1 - self.decay)
        self.codebook.copy_(self.cluster_sum / self.cluster_size.clamp(min=1e-8).unsqueeze(1))
        return reseeded

    def _reseed(self, z: Tensor, generator: torch.Generator | None) -> Tensor:
        dead = self.cluster_size < self.dead_code_threshold
        error = (z - F.embedding(self.nearest(z), self.codebook)).square().sum(1) + 1e-12
        count = self.vocabulary_size
        drawn = torch.multinomial(error, count, replacement=count > len(error), generator=generator)
        seeds = z[drawn]
        self.codebook.copy_(torch.where(dead.unsqueeze(1), seeds, self.codebook))
        self.cluster_sum.copy_(torch.where(dead.unsqueeze(1), seeds, self.cluster_sum))
        self.cluster_size.masked_fill_(dead, 1.0)
        return dead.sum()

    def codebook_loss(self, z: Tensor, codes: Tensor) -> Tensor:
        """Zero: no gradient reaches the codes."""
        return z.new_zeros(())


def perplexity(tokens: Tensor, vocabulary_size: int) -> Tensor:
    """exp of the entropy of how often each code is used: 1 (one code alone) to N (all alike). A float tensor."""
    counts = torch.zeros(vocabulary_size, device=tokens.device)
    counts.scatter_add_(0, tokens.flatten(), torch.ones_like(tokens.flatten(), dtype=counts.dtype))
    share = counts / counts.sum()
    entropy = -(share * share.clamp(min=1e-12).log()).sum()
    return entropy.exp()
