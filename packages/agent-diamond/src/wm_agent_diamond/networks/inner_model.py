"""F_theta: the network inside the denoiser's preconditioning. Section 3.1."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_diamond.config import ComputeConfig, DenoiserConfig
from wm_agent_diamond.networks.convolutions import Conv2d
from wm_agent_diamond.networks.group_norm import GroupNorm, adaptive_norms, modulations
from wm_agent_diamond.networks.layout import memory_format
from wm_agent_diamond.networks.unet import UNet


class FourierFeatures(nn.Module):
    """Cosines and sines of a number at random frequencies (Tancik et al. 2020), which belong to the weights."""

    weight: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(1, dim // 2))

    def forward(self, x: Tensor) -> Tensor:
        """(B,) to (B, D)."""
        angles = 2 * math.pi * x.unsqueeze(1) * self.weight
        return torch.cat([angles.cos(), angles.sin()], dim=1)


class InnerModel(nn.Module):
    """The U-Net on a noisy frame below its context, conditioned on noise level and actions."""

    def __init__(self, config: DenoiserConfig, action_size: int, compute: ComputeConfig) -> None:
        super().__init__()
        dim, first = config.condition_dim, config.channels[0]
        self.multiple = config.multiple
        self.layout = memory_format(compute)
        self.noise_emb = FourierFeatures(dim)
        self.act_emb = nn.Sequential(nn.Embedding(action_size, dim // config.context_frames), nn.Flatten())
        self.cond_proj = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.conv_in = Conv2d(3 * (config.context_frames + 1), first, 3, padding=1)
        self.unet = UNet(
            config.channels,
            config.residual_blocks,
            config.middle_blocks,
            dim,
            config.group_size,
            middle_attention=config.middle_attention,
            fold_upsampling=compute.fold_upsampling,
        )
        self.norm_out = GroupNorm(first, config.group_size)
        self.conv_out = Conv2d(first, 3, 3, padding=1)
        nn.init.zeros_(self.conv_out.weight)
        self.to(memory_format=self.layout)  # type: ignore[call-overload]
        self._norms = adaptive_norms(self.unet)

    def modulations(self, c_noise: Tensor, actions: Tensor) -> tuple[Tensor, ...]:
        """What noise levels (B,) and actions (B, L) do to each adaptive norm of the U-Net."""
        condition = self.cond_proj(self.noise_emb(c_noise) + self.act_emb(actions))
        return modulations(self._norms, condition)

    def forward(self, obs: Tensor, noisy: Tensor, modulations: tuple[Tensor, ...]) -> Tensor:
        """Context (B, 3 L, H, W), oldest frame first, and noisy frame (B, 3, H, W), both scaled, to (B, 3, H, W)."""
        x = torch.cat([obs, noisy], dim=1).contiguous(memory_format=self.layout)
        height, width = x.shape[2:]
        below, right = -height % self.multiple, -width % self.multiple
        if below or right:
            x = F.pad(x, (0, right, 0, below))
        x = self.unet(self.conv_in(x), modulations)
        x = self.conv_out(F.silu(self.norm_out(x)))
        return cast(Tensor, x)[:, :, :height, :width]
