"""The memory layout of convolutions."""

from __future__ import annotations

import torch

from wm_agent_iris.config import ComputeConfig


def memory_format(compute: ComputeConfig) -> torch.memory_format:
    """Channels last where `compute.channels_last` is set: up to twice as fast; the numbers are the same."""
    return torch.channels_last if compute.channels_last else torch.contiguous_format
