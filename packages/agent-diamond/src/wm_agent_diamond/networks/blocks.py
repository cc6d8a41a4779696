"""Residual blocks with adaptive group normalisation, and self-attention over pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_diamond.networks.convolutions import Conv2d
from wm_agent_diamond.networks.group_norm import AdaGroupNorm, GroupNorm

HEAD_DIM = 8


class SelfAttention2d(nn.Module):
    """Pixels attend to pixels, in heads of 8 channels; added, as published, to the *normalised* input."""

    def __init__(self, channels: int, group_size: int) -> None:
        super().__init__()
        self.heads = max(1, channels // HEAD_DIM)
        self.norm = GroupNorm(channels, group_size)
        self.qkv_proj = Conv2d(channels, 3 * channels, 1)
        self.out_proj = Conv2d(channels, channels, 1)
        nn.init.zeros_(self.out_proj.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        b, c, h, w = x.shape
        x = self.norm(x)
        qkv = self.qkv_proj(x).reshape(b, 3 * self.heads, c // self.heads, h * w).transpose(2, 3)
        q, k, v = qkv.chunk(3, dim=1)
        attention = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(c // self.heads), dim=-1)
        y = (attention @ v).transpose(2, 3).reshape(b, c, h, w)
        return x + self.out_proj(y)  # type: ignore[no-any-return]


class ResBlock(nn.Module):
    """Two 3x3 convolutions, each after AdaGN and SiLU, and a skip connection; attention after it if asked for.

    The last convolution begins at zero, so that a fresh block is its skip connection.
    """

    def __init__(self, inputs: int, outputs: int, condition_dim: int, group_size: int, *, attention: bool) -> None:
        super().__init__()
        self.proj = nn.Identity() if inputs == outputs else Conv2d(inputs, outputs, 1)
        self.norm1 = AdaGroupNorm(inputs, condition_dim, group_size)
        self.conv1 = Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = AdaGroupNorm(outputs, condition_dim, group_size)
        self.conv2 = Conv2d(outputs, outputs, 3, padding=1)
        self.attn = SelfAttention2d(outputs, group_size) if attention else nn.Identity()
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor, modulations: Iterator[Tensor]) -> Tensor:
        """(B, C_in, H, W) to (B, C_out, H, W); takes two modulations."""
        h = self.conv1(F.silu(self.norm1(x, next(modulations)), inplace=not torch.is_grad_enabled()))
        h = self.conv2(F.silu(self.norm2(h, next(modulations)), inplace=not torch.is_grad_enabled()))
        return self.attn(h + self.proj(x))  # type: ignore[no-any-return]


class ResBlocks(nn.Module):
    """Residual blocks in a row; on the way up, each reads a skip tensor besides."""

    def __init__(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        condition_dim: int,
        group_size: int,
        *,
        attention: bool = False,
    ) -> None:
        super().__init__()
        self.resblocks = nn.ModuleList(
            ResBlock(i, o, condition_dim, group_size, attention=attention) for i, o in zip(inputs, outputs, strict=True)
        )

    def forward(
        self, x: Tensor, modulations: Iterator[Tensor], skips: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, C, H, W) to the last block's output, and those of all."""
        outputs = []
        for i, block in enumerate(self.resblocks):
            x = block(x if skips is None else torch.cat([x, skips[i]], dim=1), modulations)
            outputs.append(x)
        return x, outputs
