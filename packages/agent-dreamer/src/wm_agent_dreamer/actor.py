"""The policy network."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.distributions.action_distributions import (
    ActionDistribution,
    action_distribution,
    noise_for,
    output_size,
)
from wm_agent_dreamer.layouts import ActionLayout
from wm_agent_dreamer.networks.mlp import MLP


class Actor(nn.Module):
    """Features (..., F) to a distribution over actions."""

    def __init__(self, config: DreamerConfig, layout: ActionLayout) -> None:
        super().__init__()
        self.config, self.layout = config.actor, layout
        heads = config.heads
        self.mlp = MLP(
            config.rssm.feature_size,
            layers=heads.actor_layers,
            units=heads.units,
            activation=heads.activation,
            norm=heads.norm,
            outputs=output_size(layout),
            one_hots=config.rssm.one_hots,
        )

    @property
    def gradient(self) -> Literal["reinforce", "dynamics", "both"]:
        """How it learns: as set, and with 'auto' by the kind of its actions."""
        if self.config.grad == "auto":
            return "reinforce" if self.layout.kind == "discrete" else "dynamics"
        return self.config.grad

    def forward(self, features: Tensor) -> Tensor:
        """Outputs (..., O), for `distribution`."""
        outputs: Tensor = self.mlp(features)
        return outputs.float()

    def distribution(self, outputs: Tensor) -> ActionDistribution:
        """The policy of these outputs."""
        return action_distribution(outputs, self.layout, self.config)

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """For samples of leading `shape`, from a generator on that device."""
        return noise_for(self.layout, self.config, shape, generator, device)

    def applied(self, action: Tensor) -> Tensor:
        """Sampled actions as an environment and the world model get them: continuous ones within [-1, 1].

        What lies outside is scaled onto the bound with its gradient kept.
        """
        if self.layout.kind == "discrete" or self.config.continuous != "bounded_normal":
            return action
        return action / action.detach().abs().clamp(min=1)
