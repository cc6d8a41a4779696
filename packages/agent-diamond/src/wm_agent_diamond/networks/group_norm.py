"""Group normalisation, plain and adaptive (AdaGN, Dhariwal and Nichol 2021, section 3)."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

EPSILON = 1e-5


def group_count(channels: int, group_size: int) -> int:
    """Groups of `group_size` channels; one where there are fewer."""
    return max(1, channels // group_size)


class GroupNorm(nn.Module):
    """With a learnt scale and shift a channel."""

    def __init__(self, channels: int, group_size: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(group_count(channels, group_size), channels, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        return cast(Tensor, self.norm(x))


class AdaGroupNorm(nn.Module):
    """Scale and shift are linear in a condition: norm(x) * (1 + scale) + shift.

    `modulations` evaluates the linear layers of all such norms of a network at once.
    """

    def __init__(self, channels: int, condition_dim: int, group_size: int) -> None:
        super().__init__()
        self.groups = group_count(channels, group_size)
        self.linear = nn.Linear(condition_dim, 2 * channels)

    def forward(self, x: Tensor, modulation: Tensor) -> Tensor:
        """(B, C, H, W), and (B, 2 C) with the scales first."""
        scale, shift = modulation.to(x.dtype).chunk(2, dim=1)
        if len(x) == 1:
            return F.group_norm(x, self.groups, 1 + scale[0], shift[0], EPSILON)
        normalised = F.group_norm(x, self.groups, eps=EPSILON)
        place = None if torch.is_grad_enabled() else normalised
        return torch.addcmul(shift[:, :, None, None], normalised, 1 + scale[:, :, None, None], out=place)


def adaptive_norms(network: nn.Module) -> list[AdaGroupNorm]:
    """Those of a network, in the order of `modulations`."""
    return [module for module in network.modules() if isinstance(module, AdaGroupNorm)]


def modulations(norms: list[AdaGroupNorm], condition: Tensor) -> tuple[Tensor, ...]:
    """What each norm reads of a condition (B, D): tensors (B, 2 C), by one matrix product."""
    weight = torch.cat([norm.linear.weight for norm in norms])
    bias = torch.cat([norm.linear.bias for norm in norms])
    sizes = [norm.linear.out_features for norm in norms]
    return torch.split(F.linear(condition, weight, bias), sizes, dim=1)
