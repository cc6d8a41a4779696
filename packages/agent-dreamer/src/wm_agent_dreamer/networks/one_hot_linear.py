"""Linear layers on vectors that begin with one-hots, as features (z, h) with categorical z do."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LEAST_ROWS = 256
"""Below, the weights' transpose costs more than is saved; also, acting on a few lanes stays one plain product."""


class OneHotLinear(nn.Module):
    """y = W x + b for inputs whose first `count * classes` entries are one-hots; it has no weights of its own.

    On a CPU, rows of W are added up instead of multiplied by 0 and 1: a `classes`-th of the work. Where a gradient to x
    is wanted (straight-through), it is the plain product.
    """

    places: Tensor

    def __init__(self, count: int, classes: int) -> None:
        super().__init__()
        size = count * classes
        places = torch.zeros(count, size)
        places[torch.arange(count).repeat_interleave(classes), torch.arange(size)] = torch.arange(size).float()
        self.register_buffer("places", places, persistent=False)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """(..., inputs) to (..., outputs)."""
        rows = x.numel() // x.shape[-1]
        if rows < LEAST_ROWS or x.device.type != "cpu" or x.requires_grad:
            return F.linear(x, weight, bias)
        size = self.places.shape[1]
        with torch.autocast("cpu", enabled=False):
            # exact in float32: each sum has one term that is not 0
            index = F.linear(x[..., :size].flatten(0, -2).float(), self.places).long()
        picked = F.embedding_bag(index, weight[:, :size].t().contiguous(), mode="sum").view(*x.shape[:-1], -1)
        if x.shape[-1] == size:
            return picked if bias is None else picked + bias
        return picked + F.linear(x[..., size:], weight[:, size:], bias)
