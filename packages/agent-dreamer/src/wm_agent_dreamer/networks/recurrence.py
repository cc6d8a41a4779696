"""The recurrences h_t = f(h_{t-1}, z_{t-1}, a_{t-1}) of the three versions.

Each projects the actions of all time steps at once, outside the time loop.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import RSSMConfig
from wm_agent_dreamer.networks.layers import (
    ACTIVATIONS,
    LAYER_NORM_EPSILON,
    BlockLinear,
    ConcatLinear,
    Dense,
    make_norm,
    needs_bias,
)
from wm_agent_dreamer.networks.one_hot_linear import OneHotLinear

UPDATE_BIAS = -1.0
"""Added to the update gate of V2 and V3, so that h changes slowly at first."""


def make_recurrence(config: RSSMConfig, actions: int) -> KerasRecurrence | LayerNormRecurrence | BlockRecurrence:
    """The one of `config.gru`.

    `project_actions` gives what actions (..., A) contribute; then h_t (B, D) follows from h_{t-1} (B, D), z_{t-1}
    (B, Z) and a projected action.
    """
    if config.gru == "keras":
        return KerasRecurrence(config, actions)
    return LayerNormRecurrence(config, actions) if config.gru == "layer_norm" else BlockRecurrence(config, actions)


class _InputLayer(nn.Module):
    """A dense layer on (z, a)."""

    def __init__(self, config: RSSMConfig, actions: int) -> None:
        super().__init__()
        self.linear = ConcatLinear((config.stoch_size, actions), config.hidden, bias=needs_bias(config.norm))
        self.one_hots = OneHotLinear(*config.one_hots) if config.one_hots else None
        self.norm = make_norm(config.norm, config.hidden)
        self.activation = ACTIVATIONS[config.activation]

    def project_actions(self, action: Tensor) -> Tensor:
        return self.linear.part(1, action)

    def forward(self, stoch: Tensor, projected_action: Tensor) -> Tensor:
        weight, bias = self.linear.weights[0], self.linear.bias
        product = F.linear if self.one_hots is None else self.one_hots
        return self.activation(self.norm(product(stoch, weight, bias) + projected_action))


class KerasRecurrence(nn.Module):
    """A dense layer, then a GRU whose reset gate acts after the recurrent product (V1; Keras' default)."""

    def __init__(self, config: RSSMConfig, actions: int) -> None:
        super().__init__()
        self.input = _InputLayer(config, actions)
        self.from_input = nn.Linear(config.hidden, 3 * config.deter)
        self.from_deter = nn.Linear(config.deter, 3 * config.deter)

    def project_actions(self, action: Tensor) -> Tensor:
        """(..., A) to (..., hidden)."""
        return self.input.project_actions(action)

    def forward(self, deter: Tensor, stoch: Tensor, projected_action: Tensor) -> Tensor:
        """h_t (B, D)."""
        size = deter.shape[-1]
        inputs = self.from_input(self.input(stoch, projected_action))
        recurrent = self.from_deter(deter)
        reset, update = torch.sigmoid(inputs[:, : 2 * size] + recurrent[:, : 2 * size]).chunk(2, -1)
        candidate = torch.tanh(inputs[:, 2 * size :] + reset * recurrent[:, 2 * size :])
        return torch.lerp(candidate.to(deter.dtype), deter, update.to(deter.dtype))


class LayerNormRecurrence(nn.Module):
    """A dense layer, then a GRU with one product and one layer norm for all three gates (V2, V3 2023)."""

    def __init__(self, config: RSSMConfig, actions: int) -> None:
        super().__init__()
        self.input = _InputLayer(config, actions)
        self.gates = nn.Linear(config.hidden + config.deter, 3 * config.deter, bias=False)
        self.norm = nn.LayerNorm(3 * config.deter, eps=LAYER_NORM_EPSILON)

    def project_actions(self, action: Tensor) -> Tensor:
        """(..., A) to (..., hidden)."""
        return self.input.project_actions(action)

    def forward(self, deter: Tensor, stoch: Tensor, projected_action: Tensor) -> Tensor:
        """h_t (B, D)."""
        gates = self.norm(self.gates(torch.cat([self.input(stoch, projected_action), deter], -1)))
        return _gated(deter, *gates.chunk(3, -1))


class BlockRecurrence(nn.Module):
    """A GRU of block-diagonal weights, whose blocks all see a dense layer of each of h, z and a (V3 2024)."""

    def __init__(self, config: RSSMConfig, actions: int) -> None:
        super().__init__()
        self.blocks = config.blocks
        hidden, activation, norm = config.hidden, config.activation, config.norm
        self.from_deter = Dense(config.deter, hidden, activation, norm)
        self.from_stoch = Dense(config.stoch_size, hidden, activation, norm, config.one_hots)
        self.from_action = Dense(actions, hidden, activation, norm)
        inputs = config.deter + 3 * hidden * config.blocks
        self.hidden = BlockLinear(inputs, config.deter, config.blocks)
        self.norm = make_norm(norm, config.deter)
        self.activation = ACTIVATIONS[activation]
        self.gates = BlockLinear(config.deter, 3 * config.deter, config.blocks)

    def project_actions(self, action: Tensor) -> Tensor:
        """(..., A) to (..., hidden)."""
        projected: Tensor = self.from_action(action)
        return projected

    def forward(self, deter: Tensor, stoch: Tensor, projected_action: Tensor) -> Tensor:
        """h_t (B, D)."""
        seen = torch.cat([self.from_deter(deter), self.from_stoch(stoch), projected_action], -1)
        grouped = deter.view(len(deter), self.blocks, -1)
        everywhere = seen.unsqueeze(1).expand(-1, self.blocks, -1)
        hidden = self.hidden(torch.cat([grouped, everywhere], -1).flatten(1))
        gates = self.gates(self.activation(self.norm(hidden))).view(len(deter), self.blocks, 3, -1)
        return _gated(deter, *(gate.flatten(1) for gate in gates.unbind(2)))


def _gated(deter: Tensor, reset: Tensor, candidate: Tensor, update: Tensor) -> Tensor:
    """The GRU of V2 and V3: the reset gate acts on the candidate, which holds h and the inputs already."""
    candidate = torch.tanh(torch.sigmoid(reset) * candidate)
    return torch.lerp(deter, candidate.to(deter.dtype), torch.sigmoid(update + UPDATE_BIAS).to(deter.dtype))
