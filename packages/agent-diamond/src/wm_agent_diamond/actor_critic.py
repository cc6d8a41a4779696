"""Policy pi_phi and value V_phi: convolutions, an LSTM, a linear head each. Section 3.4 and Appendix D."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_diamond.config import ActorCriticConfig, ComputeConfig
from wm_agent_diamond.networks.convolutions import Conv2d
from wm_agent_diamond.networks.group_norm import GroupNorm
from wm_agent_diamond.networks.layout import memory_format
from wm_agent_diamond.networks.memory import blank_state, state_size
from wm_agent_diamond.networks.strided import StridedEncoder


class PolicyOutput(NamedTuple):
    """At one step of B sequences, float32."""

    logits: Tensor
    """(B, A) of the actions."""
    values: Tensor
    """(B,)"""
    state: Tensor
    """(2, B, H), after this step."""


class SmallResBlock(nn.Module):
    """Group normalisation, SiLU and a 3x3 convolution, beside a skip connection."""

    def __init__(self, inputs: int, outputs: int, group_size: int) -> None:
        super().__init__()
        self.f = nn.Sequential(GroupNorm(inputs, group_size), nn.SiLU(), Conv2d(inputs, outputs, 3, padding=1))
        self.skip_projection = nn.Identity() if inputs == outputs else Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C_in, H, W) to (B, C_out, H, W)."""
        return cast(Tensor, self.skip_projection(x) + self.f(x))


class ResidualEncoder(nn.Module):
    """A convolution, then a small residual block and a 2x2 max-pooling a level."""

    def __init__(self, config: ActorCriticConfig) -> None:
        super().__init__()
        channels = config.channels
        layers: list[nn.Module] = [Conv2d(3, channels[0], 3, padding=1)]
        for before, after in zip((channels[0], *channels[:-1]), channels, strict=True):
            layers += [SmallResBlock(before, after, config.group_size), nn.MaxPool2d(2)]
        self.encoder = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 3, S, S) to (B, C, S / 2**levels, S / 2**levels)."""
        return cast(Tensor, self.encoder(x))


class ActorCritic(nn.Module):
    """Policy over `action_size` actions and value, from one network. A fresh one is uniform, and values nothing."""

    def __init__(
        self, config: ActorCriticConfig, *, image_size: int, action_size: int, compute: ComputeConfig | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.layout = memory_format(compute or ComputeConfig())
        residual = config.architecture == "residual"
        self.encoder: nn.Module = ResidualEncoder(config) if residual else StridedEncoder(3, config.channels)
        self.encoder.to(memory_format=self.layout)  # type: ignore[call-overload]
        features = config.channels[-1] * (image_size >> len(config.channels)) ** 2
        self.norm = nn.LayerNorm(features) if config.normalise_features else nn.Identity()
        if config.memory == "lstm":
            self.lstm = nn.LSTMCell(features, config.hidden_dim)
        else:
            self.linear = nn.Sequential(nn.Linear(features, config.hidden_dim), nn.SiLU())
        self.critic_linear = nn.Linear(config.hidden_dim, 1)
        self.actor_linear = nn.Linear(config.hidden_dim, action_size)
        for head in (self.critic_linear, self.actor_linear):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def initial_state(self, batch_size: int) -> Tensor:
        """Zeros (2, B, H): the hidden and the cell state of the LSTM. H is 0 without memory."""
        size = state_size(self.config.memory, self.config.hidden_dim)
        return blank_state(self.actor_linear.weight, batch_size, size)

    def features(self, frames: Tensor) -> Tensor:
        """Frames (B, 3, S, S) in [-1, 1] to (B, F)."""
        x = (frames + self.config.input_shift).contiguous(memory_format=self.layout)
        # Weights read the features channel by channel, whatever the memory layout.
        return cast(Tensor, self.norm(self.encoder(x).flatten(1)))

    def remember(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, F) after `state`: what the heads read (B, H), and the state after them."""
        if self.config.memory == "none":
            return self.linear(features), state
        hidden, cell = self.lstm(features, (state[0], state[1]))
        return hidden, torch.stack([hidden, cell]).to(state.dtype)

    def forward(self, frames: Tensor, state: Tensor) -> PolicyOutput:
        """Frames (B, 3, S, S) in [-1, 1], after `state`."""
        hidden, after = self.remember(self.features(frames), state)
        values = self.critic_linear(hidden).squeeze(1).float()
        return PolicyOutput(self.actor_linear(hidden).float(), values, after)

    def burn_in(self, frames: Tensor) -> Tensor:
        """The state after frames (B, T, 3, S, S), beginning at none; the convolutions see them together."""
        b, t = frames.shape[:2]
        state = self.initial_state(b)
        if self.config.memory == "none" or t == 0:
            return state
        features = torch.unflatten(self.features(frames.flatten(0, 1)), 0, (b, t))
        for each in features.unbind(1):
            _, state = self.remember(each, state)
        return state


def entropy(logits: Tensor) -> Tensor:
    """Of the policies (..., A), in nats: (...)."""
    log_policy = F.log_softmax(logits, dim=-1)
    return -(log_policy.exp() * log_policy).sum(-1)
