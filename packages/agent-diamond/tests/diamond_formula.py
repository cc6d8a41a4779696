"""Weights and inputs by formula, and a published checkpoint's tensors made of them.

u(name)[i] = 2 frac(sin(12.9898 (i + 1) + crc32(name) mod 10007) 43758.5453) - 1, in float64.
"""

from __future__ import annotations

import math
import zlib
from functools import cache

import torch
from torch import Tensor


def u(name: str, *shape: int) -> Tensor:
    """Uniform-looking numbers in [-1, 1)."""
    i = torch.arange(1, math.prod(shape) + 1, dtype=torch.float64)
    x = torch.sin(12.9898 * i + (zlib.crc32(name.encode()) % 10007)) * 43758.5453
    return (2 * (x - torch.floor(x)) - 1).reshape(shape)


def images(name: str, *shape: int) -> Tensor:
    """8-bit images, as float32 in [-1, 1]."""
    levels = torch.floor((u(name, *shape) + 1) * 128).clamp(0, 255)
    return (levels / 255 * 2 - 1).float()


def integers(name: str, high: int, *shape: int) -> Tensor:
    return torch.floor((u(name, *shape) + 1) / 2 * high).clamp(0, high - 1).long()


def noise(name: str, *shape: int) -> Tensor:
    """Uniform of variance 1."""
    return (math.sqrt(3) * u(name, *shape)).float()


def weight(name: str, shape: tuple[int, ...]) -> Tensor:
    if "act_emb" in name or name.endswith("noise_emb.weight"):
        return math.sqrt(3) * u(name, *shape)
    if len(shape) == 1:
        return 1 + 0.2 * u(name, *shape) if name.endswith("weight") else 0.1 * u(name, *shape)
    return math.sqrt(3.0 / math.prod(shape[1:])) * u(name, *shape)


class Shapes(dict[str, tuple[int, ...]]):
    """Shapes of tensors by name."""

    def layer(self, name: str, *shape: int) -> None:
        self[f"{name}.weight"] = shape
        self[f"{name}.bias"] = shape[:1]

    def block(self, name: str, inputs: int, outputs: int, condition: int) -> None:
        if inputs != outputs:
            self.layer(f"{name}.proj", outputs, inputs, 1, 1)
        self.layer(f"{name}.norm1.linear", 2 * inputs, condition)
        self.layer(f"{name}.conv1", outputs, inputs, 3, 3)
        self.layer(f"{name}.norm2.linear", 2 * outputs, condition)
        self.layer(f"{name}.conv2", outputs, outputs, 3, 3)

    def attention(self, name: str, channels: int) -> None:
        self.layer(f"{name}.norm.norm", channels)
        self.layer(f"{name}.qkv_proj", 3 * channels, channels, 1, 1)
        self.layer(f"{name}.out_proj", channels, channels, 1, 1)


def denoiser_shapes(actions: int) -> Shapes:
    shapes = Shapes()
    prefix = "denoiser.inner_model"
    shapes[f"{prefix}.noise_emb.weight"] = (1, 128)
    shapes[f"{prefix}.act_emb.0.weight"] = (actions, 64)
    for i in (0, 2):
        shapes.layer(f"{prefix}.cond_proj.{i}", 256, 256)
    shapes.layer(f"{prefix}.conv_in", 64, 15, 3, 3)
    shapes.layer(f"{prefix}.norm_out.norm", 64)
    shapes.layer(f"{prefix}.conv_out", 3, 64, 3, 3)
    for level in range(4):
        for i in range(2):
            shapes.block(f"{prefix}.unet.d_blocks.{level}.resblocks.{i}", 64, 64, 256)
        for i in range(3):
            shapes.block(f"{prefix}.unet.u_blocks.{level}.resblocks.{i}", 128, 64, 256)
        if level:
            shapes.layer(f"{prefix}.unet.downsamples.{level}.conv", 64, 64, 3, 3)
            shapes.layer(f"{prefix}.unet.upsamples.{level}.conv", 64, 64, 3, 3)
    for i in range(2):
        shapes.block(f"{prefix}.unet.mid_blocks.resblocks.{i}", 64, 64, 256)
        shapes.attention(f"{prefix}.unet.mid_blocks.resblocks.{i}.attn", 64)
    return shapes


def rew_end_shapes(actions: int) -> Shapes:
    shapes = Shapes()
    shapes.layer("rew_end_model.encoder.conv_in", 32, 6, 3, 3)
    for level in range(5):
        for i in range(2):
            name = f"rew_end_model.encoder.blocks.{level}.resblocks.{i}"
            shapes.block(name, 32, 32, 128)
            if level == 4:
                shapes.attention(f"{name}.attn", 32)
        if level in (1, 2, 3):
            shapes.layer(f"rew_end_model.encoder.downsamples.{level}.conv", 32, 32, 3, 3)
    shapes["rew_end_model.act_emb.weight"] = (actions, 128)
    for kind, size in (("ih", 2048), ("hh", 512)):
        shapes[f"rew_end_model.lstm.weight_{kind}_l0"] = (2048, size)
        shapes[f"rew_end_model.lstm.bias_{kind}_l0"] = (2048,)
    shapes.layer("rew_end_model.head.0", 512, 512)
    shapes["rew_end_model.head.2.weight"] = (5, 512)
    return shapes


def actor_critic_shapes(actions: int) -> Shapes:
    shapes = Shapes()
    encoder = "actor_critic.encoder.encoder"
    shapes.layer(f"{encoder}.0", 32, 3, 3, 3)
    for i, inputs, outputs in ((1, 32, 32), (3, 32, 32), (5, 32, 64), (7, 64, 64)):
        shapes.layer(f"{encoder}.{i}.f.0.norm", inputs)
        shapes.layer(f"{encoder}.{i}.f.2", outputs, inputs, 3, 3)
    shapes.layer(f"{encoder}.5.skip_projection", 64, 32, 1, 1)
    for kind, size in (("ih", 1024), ("hh", 512)):
        shapes[f"actor_critic.lstm.weight_{kind}"] = (2048, size)
        shapes[f"actor_critic.lstm.bias_{kind}"] = (2048,)
    shapes.layer("actor_critic.critic_linear", 1, 512)
    shapes.layer("actor_critic.actor_linear", actions, 512)
    return shapes


def published_shapes(actions: int = 6) -> Shapes:
    """The tensors of a published checkpoint."""
    return Shapes(denoiser_shapes(actions) | rew_end_shapes(actions) | actor_critic_shapes(actions))


@cache
def published_tensors(actions: int = 6) -> dict[str, Tensor]:
    """A published checkpoint with weights by formula."""
    return {name: weight(name, shape).float() for name, shape in published_shapes(actions).items()}
