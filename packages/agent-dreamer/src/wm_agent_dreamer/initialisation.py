"""Initial weights, by the schemes of the three versions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.networks.layers import BlockLinear, ConcatLinear
from wm_agent_dreamer.networks.recurrence import KerasRecurrence

TRUNCATED_STD = 0.87962566103423978
"""Standard deviation of a standard normal variable restricted to [-2, 2]."""


@torch.no_grad()
def initialise(model: nn.Module, config: DreamerConfig) -> None:
    """Draw all weights of the linear and convolutional layers in `model`; biases become 0."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            _draw([module.weight], *_fans(module), config)
        elif isinstance(module, ConcatLinear):
            _draw(list(module.weights), *module.fans, config)
        elif isinstance(module, BlockLinear):
            _draw([module.weight], module.weight.shape[1], module.weight.shape[2], config)
        else:
            continue
        if module.bias is not None:
            module.bias.zero_()
    for module in model.modules():
        if isinstance(module, KerasRecurrence):
            for gate in module.from_deter.weight.chunk(3):
                nn.init.orthogonal_(gate)


def _fans(layer: nn.Linear | nn.Conv2d | nn.ConvTranspose2d) -> tuple[int, int]:
    """Inputs and outputs of one unit; a kernel's places count."""
    if isinstance(layer, nn.Linear):
        return layer.in_features, layer.out_features
    places = math.prod(layer.kernel_size)
    return layer.in_channels * places, layer.out_channels * places


def _draw(weights: list[Tensor], fan_in: int, fan_out: int, config: DreamerConfig) -> None:
    fan = fan_in if config.initialisation == "truncated_normal_in" else (fan_in + fan_out) / 2
    for weight in weights:
        if config.initialisation == "glorot_uniform":
            bound = math.sqrt(3 / fan)
            weight.uniform_(-bound, bound)
        else:
            std = math.sqrt(1 / fan) / TRUNCATED_STD
            nn.init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std)
