"""Find weights for LPIPS: in a file, in a published IRIS checkpoint, in torchvision's cache, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from wm_agent_iris.weights_file import read_tensors
from wm_core.errors import CheckpointError

VGG16_CHANNELS = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
POOL_BEFORE = (2, 4, 7, 10)
"""Convolutions, counted from 0, in front of which VGG16 halves the resolution."""
TAPPED = (1, 3, 6, 9, 12)
"""Convolutions after whose ReLU features are compared: relu1_2, 2_2, 3_3, 4_3, 5_3."""
RANDOM_FEATURES_SEED = 0
TORCHVISION_FILE = "vgg16-397923af.pth"

_SLICED = re.compile(r"(?:^|\.)net\.slice(\d)\.(\d+)\.(weight|bias)$")
_TORCHVISION = re.compile(r"^(features)\.(\d+)\.(weight|bias)$")
_CHANNEL_WEIGHTS = re.compile(r"(?:^|\.)lin(\d)\.model\.\d+\.weight$")


class LPIPSWeights(NamedTuple):
    """What was found. None: it was not there."""

    convolutions: list[tuple[Tensor, Tensor]] | None
    """VGG16's 13, as (weight, bias)."""
    channel_weights: list[Tensor] | None
    """LPIPS's five."""
    origin: str


def torchvision_cache() -> Path:
    """Where torchvision keeps the VGG16 it downloads."""
    return Path(torch.hub.get_dir()) / "checkpoints" / TORCHVISION_FILE


def from_torchvision_cache() -> LPIPSWeights:
    """VGG16 alone, or nothing where the cache has none."""
    path = torchvision_cache()
    if not path.is_file():
        return LPIPSWeights(None, None, f"no file ({path} is absent)")
    return parse(read_tensors(path), str(path))


def from_file(path: Path) -> LPIPSWeights:
    """Whatever the file has; a file with channel weights alone is completed from torchvision's cache."""
    found = parse(read_tensors(path), str(path))
    if found.convolutions is None:
        cached = from_torchvision_cache()
        if cached.convolutions is None:
            raise CheckpointError(
                f"{path} has channel weights alone, and {torchvision_cache()} is absent; put VGG16 there"
            )
        found = LPIPSWeights(cached.convolutions, found.channel_weights, f"{cached.origin} and {path}")
    return found


def parse(tensors: Mapping[str, Tensor], origin: str) -> LPIPSWeights:
    """Pick VGG16 and the channel weights out of tensors by name, whatever their prefix.

    `CheckpointError` where there is neither, or where what there is has other shapes.
    """
    layers: dict[tuple[str, int], dict[str, Tensor]] = {}
    depths: dict[int, Tensor] = {}
    for name, tensor in tensors.items():
        if match := _SLICED.search(name) or _TORCHVISION.search(name):
            layers.setdefault((match[1], int(match[2])), {})[match[3]] = tensor
        elif match := _CHANNEL_WEIGHTS.search(name):
            depths[int(match[1])] = tensor
    if not layers and not depths:
        raise CheckpointError(
            f"no LPIPS or VGG16 weights in {origin}; expected names like 'net.slice1.0.weight' and "
            "'lin0.model.1.weight', or 'features.0.weight'"
        )
    convolutions = [layers[key] for key in sorted(layers)]
    shapes = [{kind: tuple(tensor.shape) for kind, tensor in layer.items()} for layer in convolutions]
    if convolutions and shapes != [{"weight": (o, i, 3, 3), "bias": (o,)} for i, o in _vgg16_channels()]:
        raise CheckpointError(f"{origin} should hold the 13 convolutions of VGG16; found {shapes}")
    channel_weights = [depths[depth] for depth in sorted(depths)]
    sizes = [weights.numel() for weights in channel_weights]
    if channel_weights and sizes != [VGG16_CHANNELS[i] for i in TAPPED]:
        raise CheckpointError(f"{origin} should hold channel weights for 64, 128, 256, 512, 512; found {sizes}")
    return LPIPSWeights(
        [(layer["weight"], layer["bias"]) for layer in convolutions] or None, channel_weights or None, origin
    )


def uniform_channel_weights() -> list[Tensor]:
    """All channels of all five depths alike: the loss is the mean over depths of 2 - 2 cos."""
    return [torch.full((VGG16_CHANNELS[i],), 1.0 / len(TAPPED)) for i in TAPPED]


def random_convolutions() -> list[tuple[Tensor, Tensor]]:
    """VGG16 with random features (He et al., 2015), the same ones each time."""
    generator = torch.Generator().manual_seed(RANDOM_FEATURES_SEED)
    layers = []
    for inputs, outputs in _vgg16_channels():
        weight = torch.randn(outputs, inputs, 3, 3, generator=generator) * (2 / (9 * inputs)) ** 0.5
        layers.append((weight, torch.zeros(outputs)))
    return layers


def _vgg16_channels() -> list[tuple[int, int]]:
    return list(zip((3, *VGG16_CHANNELS[:-1]), VGG16_CHANNELS, strict=True))
