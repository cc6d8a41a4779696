"""Features to images, by convolutions that double the resolution."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import DecoderConfig, RSSMConfig
from wm_agent_dreamer.networks.image_encoder import VALID_SIZE, padded_size
from wm_agent_dreamer.networks.layers import ACTIVATIONS, BlockLinear, ChannelNorm, Dense, make_norm, needs_bias

VALID_KERNELS = (5, 5, 6, 6)
"""From 1x1 to 5x5, 13x13, 30x30, 64x64, with stride 2 and no padding."""


class ImageDecoder(nn.Module):
    """Features (N, z and h) to mean pixels (N, C, H, W); around [0, 1], with a 'linear' output not bounded by it."""

    def __init__(self, image: tuple[int, int, int], rssm: RSSMConfig, config: DecoderConfig) -> None:
        super().__init__()
        channels, *self.image_size = image
        levels = len(config.multipliers)
        self.resizes = config.architecture == "valid"
        self.sigmoid = config.output == "sigmoid"
        if self.resizes:
            grid, start = (1, 1), 4 * config.depth * config.multipliers[-1]
        else:
            height, width = (padded_size(size, levels) // 2**levels for size in self.image_size)
            grid, start = (height, width), config.depth * config.multipliers[-1]
        first = BlockwiseFirstLayer if config.architecture == "upsampled" else LinearFirstLayer
        self.first = first(rssm, config, grid, start)
        sizes = [start, *(config.depth * multiplier for multiplier in reversed(config.multipliers[:-1])), channels]
        layers: list[nn.Module] = []
        for level, (inputs, outputs) in enumerate(pairwise(sizes)):
            last = level == levels - 1
            layers += self._doubling(level, inputs, outputs, config, bias=last or needs_bias(config.norm))
            if not last:
                layers.append(ChannelNorm(config.norm, outputs, config.activation))
        self.layers = nn.Sequential(*layers)

    @staticmethod
    def _doubling(level: int, inputs: int, outputs: int, config: DecoderConfig, *, bias: bool) -> list[nn.Module]:
        if config.architecture == "upsampled":
            return [nn.Upsample(scale_factor=2), nn.Conv2d(inputs, outputs, 5, padding=2, bias=bias)]
        if config.architecture == "same":
            return [nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1, bias=bias)]
        return [nn.ConvTranspose2d(inputs, outputs, VALID_KERNELS[level], stride=2, bias=bias)]

    def forward(self, features: Tensor) -> Tensor:
        """(N, F) to (N, C, H, W)."""
        x: Tensor = self.layers(self.first(features).permute(0, 3, 1, 2)).float()
        height, width = self.image_size
        if self.resizes:
            if (height, width) != (VALID_SIZE, VALID_SIZE):
                x = F.interpolate(x, (height, width), mode="bilinear", antialias=True)
        else:
            x = x[..., :height, :width]
        return x.sigmoid_() if self.sigmoid else x.add_(0.5)


class LinearFirstLayer(nn.Module):
    """Features to a grid (N, h, w, channels), by one linear layer."""

    def __init__(self, rssm: RSSMConfig, config: DecoderConfig, grid: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.shape = (*grid, channels)
        self.linear = nn.Linear(rssm.feature_size, grid[0] * grid[1] * channels)

    def forward(self, features: Tensor) -> Tensor:
        """(N, F) to (N, h, w, channels)."""
        grid: Tensor = self.linear(features)
        return grid.view(-1, *self.shape)


class BlockwiseFirstLayer(nn.Module):
    """Features to a grid (N, h, w, channels): h block by block, z by an MLP, then norm and activation."""

    def __init__(self, rssm: RSSMConfig, config: DecoderConfig, grid: tuple[int, int], channels: int) -> None:
        super().__init__()
        height, width = grid
        self.blocks, self.stoch_size = config.blocks, rssm.stoch_size
        self.shape = (height, width, channels)
        self.from_deter = BlockLinear(rssm.deter, height * width * channels, config.blocks)
        self.from_stoch = nn.Sequential(
            Dense(rssm.stoch_size, 2 * config.units, config.activation, config.norm),
            nn.Linear(2 * config.units, height * width * channels),
        )
        self.norm = make_norm(config.norm, channels)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, features: Tensor) -> Tensor:
        """(N, F) to (N, h, w, channels)."""
        stoch, deter = features[..., : self.stoch_size], features[..., self.stoch_size :]
        height, width, channels = self.shape
        blocks = self.from_deter(deter).view(-1, self.blocks, height, width, channels // self.blocks)
        by_pixel = blocks.permute(0, 2, 3, 1, 4).reshape(-1, *self.shape)
        grid = by_pixel + self.from_stoch(stoch).view(-1, *self.shape)
        return self.activation(self.norm(grid))
