"""The encoder E: frames to feature vectors, one for each token. Appendix A.1, Table 2."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from wm_agent_iris.config import TokenizerConfig
from wm_agent_iris.tokenizer.blocks import Downsample, GroupNorm, Level, Middle, run, swish


class IRISEncoder(nn.Module):
    """Residual encoder: levels of residual blocks, the resolution halved between them, self-attention inside.

    Published size: 64x64 frames, 5 levels of 64 channels, 2 blocks each, to (512, 4, 4).
    """

    def __init__(self, config: TokenizerConfig, recompute: bool = False) -> None:
        super().__init__()
        self.recompute = recompute
        widths = [config.channels * multiplier for multiplier in config.channel_multipliers]
        self.conv_in = nn.Conv2d(3, config.channels, 3, padding=1)
        self.levels = nn.ModuleList()
        self.downsamples = nn.ModuleList(Downsample(width) for width in widths[:-1])
        previous, resolution = config.channels, config.image_size
        for width in widths:
            attention = resolution in config.attention_resolutions
            self.levels.append(Level(previous, width, config.residual_blocks, attention))
            previous, resolution = width, resolution // 2
        self.middle = Middle(previous, config.attention_in_middle)
        self.norm_out = GroupNorm(previous)
        self.conv_out = nn.Conv2d(previous, config.z_channels, 3, padding=1)
        self.out_channels = config.z_channels

    def forward(self, x: Tensor) -> Tensor:
        """Frames (B, 3, S, S) in [-1, 1] to features (B, z_channels, G, G), G the token grid's size."""
        h = self.conv_in(x)
        for i, level in enumerate(self.levels):
            h = run(level, h, self.recompute)
            if i < len(self.downsamples):
                h = self.downsamples[i](h)
        h = run(self.middle, h, self.recompute)
        return cast(Tensor, self.conv_out(swish(self.norm_out(h))))


class StridedEncoder(nn.Sequential):
    """Plain encoder: one 4x4 convolution of stride 2 and a swish a level, e.g. 3-64-128-256-512.

    The 1x1 projection to the code dimension is the tokenizer's `pre_quant`.
    """

    def __init__(self, config: TokenizerConfig) -> None:
        layers: list[nn.Module] = []
        previous = 3
        for multiplier in config.channel_multipliers:
            width = config.channels * multiplier
            layers += [nn.Conv2d(previous, width, 4, stride=2, padding=1), nn.SiLU()]
            previous = width
        super().__init__(*layers)
        self.out_channels = previous


def build_encoder(config: TokenizerConfig, recompute: bool = False) -> IRISEncoder | StridedEncoder:
    """The encoder of `config.architecture`."""
    return StridedEncoder(config) if config.architecture == "strided" else IRISEncoder(config, recompute)
