"""The quantizer: vectors to the nearest of K codes. Van den Oord et al. (2017), Section 3 and Appendix A.1.

Two ways for the codes to learn: by the gradient of the codebook loss, or as exponential moving averages of the
vectors assigned to them, with dead codes re-seeded. Batch normalisation before, and the seeds from data, are those of
Lancucki et al. (2020), "Robust training of vector quantized bottleneck models".
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.config import QuantizerConfig
from wm_agent_genie.metrics.codes import perplexity


class Quantized(NamedTuple):
    """What the quantizer gives for vectors (..., d)."""

    codes: Tensor
    """int64 (...), the nearest code's index; the lowest one on ties."""
    straight_through: Tensor
    """(..., d), the codes' values with the gradient of the vectors."""
    loss: Tensor
    """Codebook loss plus beta times commitment loss, a scalar with gradient."""
    metrics: dict[str, Tensor]
    """`commitment` (unweighted), `perplexity` (1: one code alone, K: all alike), `reseeded` (dead codes)."""


class Quantizer(nn.Module):
    """A codebook of K codes of dimension d."""

    cluster_size: Tensor
    cluster_sum: Tensor

    def __init__(self, config: QuantizerConfig) -> None:
        super().__init__()
        self.config = config
        k, d = config.codes, config.code_dim
        self.codebook = nn.Parameter(torch.empty(k, d), requires_grad=config.codebook == "gradient")
        nn.init.uniform_(self.codebook, -1.0 / k, 1.0 / k)
        self.norm = nn.BatchNorm1d(d, affine=False) if config.batch_norm else nn.Identity()
        if config.codebook == "ema":
            self.register_buffer("cluster_size", torch.full((k,), -1.0))
            self.register_buffer("cluster_sum", self.codebook.detach().clone())

    def embed(self, codes: Tensor) -> Tensor:
        """Codes int64 (...) to their vectors (..., d)."""
        return F.embedding(codes, self.codebook)

    def nearest(self, z: Tensor) -> Tensor:
        """Vectors (..., d) to codes (...). In evaluation mode a batch norm uses its running statistics."""
        return self._nearest(self._normalised(z))

    def _normalised(self, z: Tensor) -> Tensor:
        """In float32, whatever the precision around it."""
        with torch.autocast(z.device.type, enabled=False):
            normalised: Tensor = self.norm(z.float().reshape(-1, z.shape[-1])).reshape(z.shape)
        return normalised

    def _nearest(self, z: Tensor) -> Tensor:
        """By squared distance; the lowest index on ties."""
        with torch.no_grad(), torch.autocast(z.device.type, enabled=False):
            flat, codes = z.reshape(-1, z.shape[-1]), self.codebook.float()
            # |z|^2 is the same for all codes and is left out.
            distances = torch.addmm(codes.square().sum(1), flat, codes.t(), alpha=-2)
            return distances.argmin(dim=1).reshape(z.shape[:-1])

    def forward(self, z: Tensor, generator: torch.Generator | None = None) -> Quantized:
        """Quantize vectors (..., d). In training mode an EMA codebook moves first; `generator` draws new seeds."""
        z = self._normalised(z)
        reseeded = torch.zeros((), device=z.device)
        ema = self.config.codebook == "ema"
        if ema and self.training:
            reseeded = self._update(z.detach().reshape(-1, z.shape[-1]), generator)
        codes = self._nearest(z)
        quantized = self.embed(codes)
        commitment = F.mse_loss(z, quantized.detach())
        loss = self.config.commitment_weight * commitment
        if not ema:
            loss = loss + F.mse_loss(quantized, z.detach())
        metrics = {
            "commitment": commitment.detach(),
            "perplexity": perplexity(codes, self.config.codes),
            "reseeded": reseeded,
        }
        return Quantized(codes, z + (quantized - z).detach(), loss, metrics)

    @torch.no_grad()
    def _update(self, z: Tensor, generator: torch.Generator | None) -> Tensor:
        """Move the codes towards vectors (M, d); how many were re-seeded, as a tensor.

        Codes used less than `dead_code_threshold` times M / K a batch, on average, are re-seeded at vectors of the
        batch, drawn in proportion to their squared distance from the nearest code. Before the first batch all are.
        """
        k, decay = self.config.codes, self.config.ema_decay
        with torch.autocast(z.device.type, enabled=False):
            fair = len(z) / k
            dead = self.cluster_size < self.config.dead_code_threshold * fair
            error = (z - self.embed(self._nearest(z))).square().sum(1) + 1e-12
            drawn = torch.multinomial(error, k, replacement=k > len(error), generator=generator)
            seeds = z[drawn]
            self.codebook.copy_(torch.where(dead.unsqueeze(1), seeds, self.codebook))
            self.cluster_sum.copy_(torch.where(dead.unsqueeze(1), seeds * fair, self.cluster_sum))
            self.cluster_size.masked_fill_(dead, fair)
            assignment = F.one_hot(self._nearest(z), k).to(z.dtype)
            self.cluster_size.lerp_(assignment.sum(0), 1 - decay)
            self.cluster_sum.lerp_(assignment.t() @ z, 1 - decay)
            self.codebook.copy_(self.cluster_sum / self.cluster_size.clamp(min=1e-8).unsqueeze(1))
        return dead.sum()
