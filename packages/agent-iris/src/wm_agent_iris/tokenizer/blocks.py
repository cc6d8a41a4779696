"""The parts of the residual autoencoder: normalisation, residual blocks, self-attention, resampling.

Micheli et al. (2023), Appendix A.1, after the VQGAN of Esser et al. (2021). Feature maps have the shape
(batch, channels, height, width).
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class GroupNorm(nn.GroupNorm):
    """Normalisation over 32 groups of channels, or over the most that `channels` and 32 share."""

    def __init__(self, channels: int) -> None:
        super().__init__(math.gcd(32, channels), channels, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        """Any (B, channels, ...) to the same shape."""
        # Its backward pass in bfloat16 is five times as slow on a CPU, and in float32 already on a GPU.
        return super().forward(x.float() if torch.is_grad_enabled() else x)


def swish(x: Tensor) -> Tensor:
    """x * sigmoid(x). Overwrites `x` where no gradient is recorded: hand it a tensor of your own."""
    return F.silu(x, inplace=not torch.is_grad_enabled())


class ResidualBlock(nn.Module):
    """x + conv(swish(norm(conv(swish(norm(x)))))), with a 1x1 convolution on x where the channels change."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.norm1 = GroupNorm(in_channels)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.norm2 = GroupNorm(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        same = in_channels == out_channels
        self.shortcut = nn.Identity() if same else nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, in_channels, H, W) to (B, out_channels, H, W)."""
        h = self.conv1(swish(self.norm1(x)))
        h = self.conv2(swish(self.norm2(h)))
        return cast(Tensor, self.shortcut(x) + h)


class SpatialAttention(nn.Module):
    """Single-head self-attention over all positions of a feature map, added to it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = GroupNorm(channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.projection = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same shape; scores are scaled by C^-0.5."""
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).unsqueeze(1).chunk(3, dim=-1)
        attended = F.scaled_dot_product_attention(q, k, v).squeeze(1)
        return x + cast(Tensor, self.projection(attended.transpose(1, 2).reshape(x.shape)))


class Downsample(nn.Module):
    """Halves the resolution: a 3x3 convolution of stride 2, padded by one at the right and at the bottom."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, H/2, W/2)."""
        return cast(Tensor, self.conv(F.pad(x, (0, 1, 0, 1))))


class Upsample(nn.Module):
    """Doubles the resolution: each pixel becomes four, then a 3x3 convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, 2H, 2W)."""
        return cast(Tensor, self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest")))


class Level(nn.Sequential):
    """Residual blocks at one resolution, each followed by self-attention where `attention` is set."""

    def __init__(self, in_channels: int, out_channels: int, blocks: int, attention: bool) -> None:
        layers: list[nn.Module] = []
        for i in range(blocks):
            layers.append(ResidualBlock(out_channels if i else in_channels, out_channels))
            if attention:
                layers.append(SpatialAttention(out_channels))
        super().__init__(*layers)


class Middle(nn.Sequential):
    """The innermost part: block, self-attention where `attention` is set, block."""

    def __init__(self, channels: int, attention: bool) -> None:
        between = [SpatialAttention(channels)] if attention else []
        super().__init__(ResidualBlock(channels, channels), *between, ResidualBlock(channels, channels))


def run(layers: nn.Module, x: Tensor, recompute: bool) -> Tensor:
    """Apply `layers`; with `recompute`, keep no activations of theirs for the backward pass."""
    if recompute and torch.is_grad_enabled():
        return cast(Tensor, checkpoint(layers, x, use_reentrant=False))
    return cast(Tensor, layers(x))
