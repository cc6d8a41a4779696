"""Images to vectors, by convolutions that halve the resolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import EncoderConfig
from wm_agent_dreamer.networks.layers import ChannelNorm, needs_bias

VALID_SIZE = 64
"""Height and width that the unpadded convolutions of V1 and V2 are made for; other images are resized to it."""


def padded_size(size: int, levels: int) -> int:
    """The next multiple of 2^levels, to which images are padded at the bottom and at the right."""
    factor = 1 << levels
    return -(-size // factor) * factor


class ImageEncoder(nn.Module):
    """(N, C, H, W) in [0, 1] to (N, size). Images that do not fit are padded with mid-gray, or resized ('valid')."""

    def __init__(self, image: tuple[int, int, int], config: EncoderConfig) -> None:
        super().__init__()
        channels, *sizes = image
        levels = len(config.multipliers)
        self.resizes = config.architecture == "valid"
        height, width = (VALID_SIZE if self.resizes else padded_size(size, levels) for size in sizes)
        self.canvas = (height, width)
        layers: list[nn.Module] = []
        for multiplier in config.multipliers:
            outputs = config.depth * multiplier
            layers += self._halving(channels, outputs, config)
            layers.append(ChannelNorm(config.norm, outputs, config.activation))
            channels = outputs
            height, width = ((height - 2) // 2, (width - 2) // 2) if self.resizes else (height // 2, width // 2)
        self.layers = nn.Sequential(*layers)
        self.grid = (height, width)
        self.size = channels * height * width

    @staticmethod
    def _halving(inputs: int, outputs: int, config: EncoderConfig) -> list[nn.Module]:
        bias = needs_bias(config.norm)
        if config.architecture == "pooled":
            return [nn.Conv2d(inputs, outputs, 5, padding=2, bias=bias), nn.MaxPool2d(2)]
        return [nn.Conv2d(inputs, outputs, 4, stride=2, padding=0 if config.architecture == "valid" else 1, bias=bias)]

    def forward(self, image: Tensor) -> Tensor:
        """(N, C, H, W) to (N, size)."""
        x = image - 0.5
        if x.shape[-2:] != self.canvas:
            height, width = self.canvas
            if self.resizes:
                x = F.interpolate(x, self.canvas, mode="bilinear", antialias=True)
            else:
                x = F.pad(x, (0, width - x.shape[-1], 0, height - x.shape[-2]))
        features: Tensor = self.layers(x.contiguous(memory_format=torch.channels_last))
        return features.permute(0, 2, 3, 1).flatten(1)
