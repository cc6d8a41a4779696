"""An exponential moving average of a network: slow critics, target networks, averaged weights."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from wm_core.errors import UsageError


class ExponentialMovingAverage:
    """`module` holds `average <- decay * average + (1 - decay) * source` after each `update`.

    Starts as a copy; takes no gradients. `decay` 0 makes `update` a hard copy, as DreamerV2's target critic,
    updated every 100 steps, needs. Buffers and integers are copied, not averaged.
    """

    def __init__(self, source: nn.Module, decay: float) -> None:
        if not 0 <= decay < 1:
            raise UsageError(f"the decay of a moving average is {decay}; expected 0 <= decay < 1")
        self.decay = decay
        self.module = deepcopy(source).requires_grad_(False)
        self._source = source

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the source's present weights."""
        source = dict(self._source.named_parameters())
        for name, average in self.module.named_parameters():
            average.lerp_(source[name], 1 - self.decay)
        buffers = dict(self._source.named_buffers())
        for name, buffer in self.module.named_buffers():
            buffer.copy_(buffers[name])

    def state_dict(self) -> dict[str, Tensor]:
        """The average's weights."""
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the average's weights back."""
        self.module.load_state_dict(state)
