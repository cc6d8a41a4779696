"""The decoder D: code vectors on the token grid to frames. Appendix A.1, Table 2."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from wm_agent_iris.config import TokenizerConfig
from wm_agent_iris.tokenizer.blocks import GroupNorm, Level, Middle, Upsample, run, swish


class IRISDecoder(nn.Module):
    """Residual decoder: the encoder backwards, with one more block a level. Levels run from the token grid up."""

    def __init__(self, config: TokenizerConfig, recompute: bool = False) -> None:
        super().__init__()
        self.recompute = recompute
        widths = [config.channels * multiplier for multiplier in reversed(config.channel_multipliers)]
        self.in_channels = config.z_channels
        self.conv_in = nn.Conv2d(config.z_channels, widths[0], 3, padding=1)
        self.middle = Middle(widths[0], config.attention_in_middle)
        self.levels = nn.ModuleList()
        self.upsamples = nn.ModuleList(Upsample(width) for width in widths[:-1])
        previous, resolution = widths[0], config.grid_size
        for width in widths:
            attention = resolution in config.attention_resolutions
            self.levels.append(Level(previous, width, config.residual_blocks + 1, attention))
            previous, resolution = width, resolution * 2
        self.norm_out = GroupNorm(previous)
        self.conv_out = nn.Conv2d(previous, 3, 3, padding=1)

    def forward(self, z: Tensor) -> Tensor:
        """(B, z_channels, G, G) to frames (B, 3, S, S), about [-1, 1] and not clamped."""
        h = run(self.middle, self.conv_in(z), self.recompute)
        for i, level in enumerate(self.levels):
            h = run(level, h, self.recompute)
            if i < len(self.upsamples):
                h = self.upsamples[i](h)
        return cast(Tensor, self.conv_out(swish(self.norm_out(h))))


class StridedDecoder(nn.Sequential):
    """The strided encoder backwards: a swish and one transposed 4x4 convolution of stride 2 a level."""

    def __init__(self, config: TokenizerConfig) -> None:
        widths = [config.channels * multiplier for multiplier in reversed(config.channel_multipliers)]
        layers: list[nn.Module] = []
        for width, following in zip(widths, [*widths[1:], 3], strict=True):
            layers += [nn.SiLU(), nn.ConvTranspose2d(width, following, 4, stride=2, padding=1)]
        super().__init__(*layers)
        self.in_channels = widths[0]


def build_decoder(config: TokenizerConfig, recompute: bool = False) -> IRISDecoder | StridedDecoder:
    """The decoder of `config.architecture`."""
    return StridedDecoder(config) if config.architecture == "strided" else IRISDecoder(config, recompute)
