"""Convolutions that change the resolution, or that torch would not give to oneDNN."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Conv2d(nn.Conv2d):
    """As torch's, but in float32 on a CPU always by oneDNN.

    torch itself leaves 1x1 kernels in one thread, and single small images, to a routine half as fast.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(B, C_in, H, W) to (B, C_out, H', W')."""
        if not suits_onednn(x):
            return super().forward(x)
        convolve = torch.ops.aten.mkldnn_convolution
        arguments = (self.weight, self.bias, self.padding, self.stride, self.dilation, self.groups)
        return cast(Tensor, convolve(x, *arguments))


def suits_onednn(x: Tensor) -> bool:
    """Whether torch might not, and could, convolve `x` by oneDNN."""
    float32_on_cpu = x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    return float32_on_cpu and _ONEDNN and bool(torch.backends.mkldnn.enabled) and not torch.compiler.is_compiling()


_ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]


class Downsample(nn.Module):
    """A 3x3 convolution of stride 2."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = Conv2d(channels, channels, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, H/2, W/2)."""
        return self.conv(x)  # type: ignore[no-any-return]


class Upsample(nn.Module):
    """Every pixel doubled in height and width, and a 3x3 convolution.

    `folded` computes the same numbers, up to rounding, with 4/9 of the products: see `folded_kernel`.
    """

    def __init__(self, channels: int, *, folded: bool) -> None:
        super().__init__()
        self.folded = folded
        self.spread: Tensor
        self.conv = Conv2d(channels, channels, 3, padding=1)
        self.register_buffer("spread", spread(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, 2 H, 2 W)."""
        if not self.folded:
            return self.conv(F.interpolate(x, scale_factor=2, mode="nearest"))  # type: ignore[no-any-return]
        kernel = folded_kernel(self.conv.weight, self.spread)
        return F.conv_transpose2d(x, kernel, self.conv.bias, stride=2, padding=1)


def spread() -> Tensor:
    """The (9, 16) matrix from a 3x3 kernel to the 4x4 kernel of `folded_kernel`."""
    one_dimension = torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]).flip(1)
    return torch.kron(one_dimension, one_dimension).T.contiguous()


def folded_kernel(weight: Tensor, spread: Tensor) -> Tensor:
    """The (C_in, C_out, 4, 4) kernel of the transposed convolution of stride 2 that equals `Upsample`.

    A doubled pixel meets two rows (columns) of the 3x3 kernel in one of its outputs and one in the other, so each of
    the four phases of the output is a 2x2 convolution at the low resolution.
    """
    return torch.unflatten(weight.transpose(0, 1).flatten(2) @ spread, 2, (4, 4))
