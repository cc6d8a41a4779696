"""The scale of returns that DreamerV3 divides by."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ReturnNormaliser(nn.Module):
    """S = max(limit, EMA of Per(R, 95) - Per(R, 5)). DreamerV3, "Actor critic learning". Its averages start at 0."""

    LOW, HIGH = 0.05, 0.95
    low: Tensor
    high: Tensor

    def __init__(self, decay: float, limit: float) -> None:
        super().__init__()
        self.decay, self.limit = decay, limit
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))

    @torch.no_grad()
    def update(self, returns: Tensor) -> Tensor:
        """Take in a batch of returns; S, a scalar."""
        low, high = torch.quantile(returns.flatten(), returns.new_tensor([self.LOW, self.HIGH])).unbind()
        self.low.lerp_(low, 1 - self.decay)
        self.high.lerp_(high, 1 - self.decay)
        return self.scale

    @property
    def scale(self) -> Tensor:
        """S, of what was taken in so far."""
        return (self.high - self.low).clamp(min=self.limit)
