"""Activations, norms and linear layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import Activation, Norm
from wm_agent_dreamer.networks.one_hot_linear import OneHotLinear

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "elu": F.elu, "silu": F.silu}

LAYER_NORM_EPSILON = 1e-3
RMS_NORM_EPSILON = 1e-4


def make_norm(kind: Norm, size: int) -> nn.Module:
    """Over the last axis."""
    if kind == "layer":
        return nn.LayerNorm(size, eps=LAYER_NORM_EPSILON)
    return RMSNorm(size, eps=RMS_NORM_EPSILON) if kind == "rms" else nn.Identity()


class RMSNorm(nn.RMSNorm):
    """In float32 whatever the inputs are, as layer norm is under autocast."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., size), float32."""
        return super().forward(x.float())


def needs_bias(norm: Norm) -> bool:
    """Whether a layer before that norm has a bias: layer norm takes the mean away and has a shift of its own."""
    return norm != "layer"


class ChannelNorm(nn.Module):
    """A norm over the channels at each pixel of (N, C, H, W), then the activation."""

    def __init__(self, kind: Norm, channels: int, activation: Activation) -> None:
        super().__init__()
        self.norm = make_norm(kind, channels)
        self.activation = ACTIVATIONS[activation]
        self.normalises = kind != "none"

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W), the same shape."""
        if self.normalises:
            x = self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.activation(x)


class ConcatLinear(nn.Module):
    """A linear layer on the concatenation of several inputs, whose parts can be applied apart.

    So what does not change in a time loop is multiplied outside it.
    """

    def __init__(self, inputs: Iterable[int], outputs: int, bias: bool) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(outputs, size)) for size in inputs])
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    @property
    def fans(self) -> tuple[int, int]:
        """Inputs and outputs of the whole."""
        return sum(weight.shape[1] for weight in self.weights), self.weights[0].shape[0]

    def part(self, index: int, x: Tensor, *, with_bias: bool = False) -> Tensor:
        """What the input of that index adds to the sum."""
        return F.linear(x, self.weights[index], self.bias if with_bias else None)

    def forward(self, *inputs: Tensor) -> Tensor:
        """The sum of all parts and the bias."""
        total = self.part(0, inputs[0], with_bias=True)
        for index, x in enumerate(inputs[1:], start=1):
            total = total + self.part(index, x)
        return total


class BlockLinear(nn.Module):
    """A linear layer of a block-diagonal weight: G groups of inputs, each to its group of outputs."""

    def __init__(self, inputs: int, outputs: int, blocks: int) -> None:
        super().__init__()
        self.blocks = blocks
        self.weight = nn.Parameter(torch.empty(blocks, inputs // blocks, outputs // blocks))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) to (..., outputs)."""
        grouped = x.reshape(-1, self.blocks, self.weight.shape[1]).transpose(0, 1)
        bias = self.bias.view(self.blocks, 1, -1)
        return torch.baddbmm(bias, grouped, self.weight).transpose(0, 1).reshape(*x.shape[:-1], -1)


class Dense(nn.Module):
    """Linear, norm, activation. `one_hots` is how many, of how many classes, its inputs begin with."""

    def __init__(
        self, inputs: int, units: int, activation: Activation, norm: Norm, one_hots: tuple[int, int] | None = None
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, units, bias=needs_bias(norm))
        self.one_hots = OneHotLinear(*one_hots) if one_hots else None
        self.norm = make_norm(norm, units)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) to (..., units)."""
        linear = self.linear
        x = linear(x) if self.one_hots is None else self.one_hots(x, linear.weight, linear.bias)
        return self.activation(self.norm(x))
