"""Independent normal variables, by mean and standard deviation; sums run over the last axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def kl(mean_p: Tensor, std_p: Tensor, mean_q: Tensor, std_q: Tensor) -> Tensor:
    """KL(p || q), in nats."""
    ratio = (std_p / std_q).square()
    distance = ((mean_p - mean_q) / std_q).square()
    return 0.5 * (ratio + distance - 1 - ratio.log()).sum(-1)


def log_density(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Of each variable, not summed."""
    return -0.5 * ((x - mean) / std).square() - std.log() - HALF_LOG_2PI


def entropy(std: Tensor) -> Tensor:
    """In nats."""
    return (std.log() + 0.5 + HALF_LOG_2PI).sum(-1)


def standard_cdf(x: Tensor) -> Tensor:
    """Phi(x) of the standard normal distribution."""
    probability: Tensor = torch.special.ndtr(x)
    return probability


def standard_density(x: Tensor) -> Tensor:
    """phi(x) of the standard normal distribution."""
    return torch.exp(-0.5 * x.square() - HALF_LOG_2PI)
