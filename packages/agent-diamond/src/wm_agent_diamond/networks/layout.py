"""Memory layout of images and of the weights of convolutions."""

from __future__ import annotations

import torch

from wm_agent_diamond.config import ComputeConfig


def memory_format(compute: ComputeConfig) -> torch.memory_format:
    """The torch format of `compute.channels_last`."""
    return torch.channels_last if compute.channels_last else torch.contiguous_format
