"""A small encoder: one convolution of stride 2 a level."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from wm_agent_diamond.networks.convolutions import Conv2d


class StridedEncoder(nn.Sequential):
    """Images (B, C, S, S) to (B, channels[-1], S / 2**levels, S / 2**levels)."""

    def __init__(self, inputs: int, channels: Sequence[int]) -> None:
        layers: list[nn.Module] = []
        for before, after in zip((inputs, *channels[:-1]), channels, strict=True):
            layers += [Conv2d(before, after, 3, stride=2, padding=1), nn.SiLU()]
        super().__init__(*layers)
