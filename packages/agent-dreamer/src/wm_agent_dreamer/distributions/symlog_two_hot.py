"""Regression as classification: two-hot targets on bins that are even in symlog space. DreamerV3."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def symlog(x: Tensor) -> Tensor:
    """sign(x) ln(|x| + 1)."""
    return x.sign() * x.abs().log1p()


def symexp(x: Tensor) -> Tensor:
    """sign(x) (exp(|x|) - 1), the inverse of `symlog`."""
    return x.sign() * x.abs().expm1()


class TwoHotBins(nn.Module):
    """K bins from -limit to limit in symlog space, K odd.

    `space` says where neighbours are interpolated: 'symlog' (2023 version; predicts symexp of the expected bin) or
    'symexp' (2024 version; bins are at symexp of the grid, and the prediction is their expectation).
    """

    bins: Tensor

    def __init__(self, count: int, limit: float, space: Literal["symlog", "symexp"]) -> None:
        super().__init__()
        self.space = space
        half = torch.linspace(0, limit, count // 2 + 1)
        half = symexp(half) if space == "symexp" else half
        self.register_buffer("bins", torch.cat([-half.flip(0), half[1:]]), persistent=False)

    def encode(self, x: Tensor) -> Tensor:
        """Weights (..., K) of at most two neighbouring bins for x (...); beyond the outermost, that bin alone."""
        lower, upper, weight = self._neighbours(x)
        zeros = torch.zeros(*x.shape, len(self.bins), dtype=x.dtype, device=x.device)
        zeros.scatter_(-1, lower.unsqueeze(-1), (1 - weight).unsqueeze(-1))
        return zeros.scatter_add_(-1, upper.unsqueeze(-1), weight.unsqueeze(-1))

    def decode(self, logits: Tensor) -> Tensor:
        """The prediction (...) of logits (..., K); exactly 0 for probabilities symmetric around the middle."""
        probs = F.softmax(logits, -1, dtype=torch.float32)
        middle = len(self.bins) // 2
        # opposite bins are subtracted first: their values are huge, and sums of them would not cancel
        excess = probs[..., middle + 1 :] - probs[..., :middle].flip(-1)
        mean = (excess * self.bins[middle + 1 :]).sum(-1)
        return symexp(mean) if self.space == "symlog" else mean

    def loss(self, logits: Tensor, x: Tensor) -> Tensor:
        """Cross-entropy (...) of logits (..., K) with the encoding of x (...)."""
        lower, upper, weight = self._neighbours(x)
        picked = logits.float().gather(-1, torch.stack([lower, upper], -1))
        expected = (1 - weight) * picked[..., 0] + weight * picked[..., 1]
        return torch.logsumexp(logits.float(), -1) - expected

    def _neighbours(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Indices of the bins below and above, and the share of the upper one."""
        x = symlog(x) if self.space == "symlog" else x
        x = x.clamp(self.bins[0], self.bins[-1]).contiguous()
        upper = torch.searchsorted(self.bins, x).clamp(1, len(self.bins) - 1)
        lower = upper - 1
        below, above = self.bins[lower], self.bins[upper]
        return lower, upper, (x - below) / (above - below)
