"""Heads that predict a number: rewards and values."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from wm_agent_dreamer.config import HeadsConfig, ScalarHead
from wm_agent_dreamer.distributions.symlog_two_hot import TwoHotBins
from wm_agent_dreamer.networks.mlp import MLP

SPACES: dict[ScalarHead, Literal["symlog", "symexp"]] = {"symlog_two_hot": "symlog", "symexp_two_hot": "symexp"}


class ScalarNetwork(nn.Module):
    """An MLP whose output is a normal distribution of unit variance, or one over bins."""

    def __init__(
        self,
        inputs: int,
        *,
        layers: int,
        kind: ScalarHead,
        config: HeadsConfig,
        one_hots: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.bins = None if kind == "normal" else TwoHotBins(config.bins, config.bin_limit, SPACES[kind])
        self.mlp = MLP(
            inputs,
            layers=layers,
            units=config.units,
            activation=config.activation,
            norm=config.norm,
            outputs=1 if kind == "normal" else config.bins,
            one_hots=one_hots,
        )

    def forward(self, features: Tensor) -> Tensor:
        """Outputs (..., K), for `predict` and `loss`."""
        outputs: Tensor = self.mlp(features)
        return outputs.float()

    def predict(self, outputs: Tensor) -> Tensor:
        """The mean (...)."""
        return outputs.squeeze(-1) if self.bins is None else self.bins.decode(outputs)

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Negative log-likelihood (...) of targets (...); of the normal distribution without its constant."""
        if self.bins is None:
            return 0.5 * (outputs.squeeze(-1) - target).square()
        return self.bins.loss(outputs, target)
