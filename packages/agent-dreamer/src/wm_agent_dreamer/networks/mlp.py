"""Multilayer perceptrons."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from wm_agent_dreamer.config import Activation, Norm
from wm_agent_dreamer.networks.layers import Dense


class MLP(nn.Module):
    """`layers` of `units`, then a linear layer to `outputs`, if any. `size` is the length of what comes out.

    `one_hots` is how many, of how many classes, the inputs begin with, if they do.
    """

    def __init__(
        self,
        inputs: int,
        *,
        layers: int,
        units: int,
        activation: Activation,
        norm: Norm,
        outputs: int | None = None,
        one_hots: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        sizes = [inputs] + layers * [units]
        self.hidden = nn.Sequential(
            *(
                Dense(before, after, activation, norm, None if index else one_hots)
                for index, (before, after) in enumerate(pairwise(sizes))
            )
        )
        self.output = None if outputs is None else nn.Linear(sizes[-1], outputs)
        self.size = sizes[-1] if outputs is None else outputs

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) to (..., size)."""
        x = self.hidden(x)
        return x if self.output is None else self.output(x)
