"""Weights and inputs by formula, and the published checkpoint's tensors made of them.

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


def image(name: str, *shape: int) -> Tensor:
    """An 8-bit image."""
    return torch.floor((u(name, *shape) + 1) * 128).clamp(0, 255).to(torch.uint8)


def integers(name: str, high: int, *shape: int) -> Tensor:
    return torch.floor((u(name, *shape) + 1) / 2 * high).clamp(0, high - 1).long()


def weight(name: str, shape: tuple[int, ...]) -> Tensor:
    if name.startswith("world_model.pos_emb") or "embedding_tables." in name or name == "tokenizer.embedding.weight":
        return math.sqrt(3) * u(name, *shape)
    if len(shape) == 1:
        return 1 + 0.2 * u(name, *shape) if name.endswith("weight") else 0.1 * u(name, *shape)
    return math.sqrt(3.0 / math.prod(shape[1:])) * u(name, *shape)


@cache
def published_shapes(actions: int = 6) -> dict[str, tuple[int, ...]]:
    """The float tensors of a published checkpoint by name, LPIPS and constants left out."""
    shapes: dict[str, tuple[int, ...]] = {}

    def layer(name: str, *shape: int) -> None:
        shapes[f"{name}.weight"] = shape
        shapes[f"{name}.bias"] = shape[:1]

    def block(name: str) -> None:
        for part in ("norm1", "norm2"):
            layer(f"{name}.{part}", 64)
        for part in ("conv1", "conv2"):
            layer(f"{name}.{part}", 64, 64, 3, 3)

    def attention(name: str) -> None:
        layer(f"{name}.norm", 64)
        for part in ("q", "k", "v", "proj_out"):
            layer(f"{name}.{part}", 64, 64, 1, 1)

    for net, up_or_down, blocks, resample in (
        ("encoder", "down", 2, "downsample"),
        ("decoder", "up", 3, "upsample"),
    ):
        name = f"tokenizer.{net}"
        layer(f"{name}.conv_in", 64, 3 if net == "encoder" else 512, 3, 3)
        layer(f"{name}.norm_out", 64)
        layer(f"{name}.conv_out", 512 if net == "encoder" else 3, 64, 3, 3)
        block(f"{name}.mid.block_1")
        attention(f"{name}.mid.attn_1")
        block(f"{name}.mid.block_2")
        for level in range(5):
            for i in range(blocks):
                block(f"{name}.{up_or_down}.{level}.block.{i}")
                if level in (2, 3):
                    attention(f"{name}.{up_or_down}.{level}.attn.{i}")
            if level != (4 if net == "encoder" else 0):
                layer(f"{name}.{up_or_down}.{level}.{resample}.conv", 64, 64, 3, 3)
    layer("tokenizer.pre_quant_conv", 512, 512, 1, 1)
    layer("tokenizer.post_quant_conv", 512, 512, 1, 1)
    shapes["tokenizer.embedding.weight"] = (512, 512)

    for i in range(10):
        name = f"world_model.transformer.blocks.{i}"
        layer(f"{name}.ln1", 256)
        layer(f"{name}.ln2", 256)
        for part in ("key", "query", "value", "proj"):
            layer(f"{name}.attn.{part}", 256, 256)
        layer(f"{name}.mlp.0", 1024, 256)
        layer(f"{name}.mlp.2", 256, 1024)
    layer("world_model.transformer.ln_f", 256)
    shapes["world_model.pos_emb.weight"] = (340, 256)
    shapes["world_model.embedder.embedding_tables.0.weight"] = (actions, 256)
    shapes["world_model.embedder.embedding_tables.1.weight"] = (512, 256)
    for head, outputs in (("observations", 512), ("rewards", 3), ("ends", 2)):
        layer(f"world_model.head_{head}.head_module.0", 256, 256)
        layer(f"world_model.head_{head}.head_module.2", outputs, 256)

    for i, (inputs, outputs) in enumerate(((3, 32), (32, 32), (32, 64), (64, 64)), start=1):
        layer(f"actor_critic.conv{i}", outputs, inputs, 3, 3)
    for kind, size in (("ih", 1024), ("hh", 512)):
        shapes[f"actor_critic.lstm.weight_{kind}"] = (2048, size)
        shapes[f"actor_critic.lstm.bias_{kind}"] = (2048,)
    layer("actor_critic.critic_linear", 1, 512)
    layer("actor_critic.actor_linear", actions, 512)
    return shapes


def published_constants() -> dict[str, Tensor]:
    """The constants a published checkpoint holds besides."""
    masks = {f"world_model.transformer.blocks.{i}.attn.mask": torch.ones(340, 340).tril() for i in range(10)}
    indices = {"observations": 320, "rewards": 20, "ends": 20}
    return masks | {f"world_model.head_{k}.indices": torch.arange(n) for k, n in indices.items()}


def lpips_shapes(prefix: str = "tokenizer.lpips.") -> dict[str, tuple[int, ...]]:
    """The LPIPS tensors inside a published checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {
        f"{prefix}scaling_layer.shift": (1, 3, 1, 1),
        f"{prefix}scaling_layer.scale": (1, 3, 1, 1),
    }
    slices = (
        ((0, 3, 64), (2, 64, 64)),
        ((5, 64, 128), (7, 128, 128)),
        ((10, 128, 256), (12, 256, 256), (14, 256, 256)),
        ((17, 256, 512), (19, 512, 512), (21, 512, 512)),
        ((24, 512, 512), (26, 512, 512), (28, 512, 512)),
    )
    for i, layers in enumerate(slices):
        for index, inputs, outputs in layers:
            shapes[f"{prefix}net.slice{i + 1}.{index}.weight"] = (outputs, inputs, 3, 3)
            shapes[f"{prefix}net.slice{i + 1}.{index}.bias"] = (outputs,)
        shapes[f"{prefix}lin{i}.model.1.weight"] = (1, layers[-1][2], 1, 1)
    return shapes


@cache
def published_tensors(actions: int = 6) -> dict[str, Tensor]:
    """A published checkpoint with weights by formula."""
    floats = {name: weight(name, shape).float() for name, shape in published_shapes(actions).items()}
    return floats | published_constants()
