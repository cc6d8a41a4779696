"""The actor pi and the critic V: convolutions, an LSTM, and a linear head each. Section 2.3, Appendix A.3.

They see the tokenizer's reconstructions, in imagination and in the real environment alike, never raw frames.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_iris.config import ActorCriticConfig, ComputeConfig
from wm_agent_iris.layout import memory_format


class PolicyOutput(NamedTuple):
    """Over T steps of B sequences of frames."""

    logits: Tensor
    """(B, T, A) of the actions."""
    values: Tensor
    """(B, T)"""
    state: Tensor
    """After the last step; see `IRISActorCritic.initial_state`."""


class RecurrentNetwork(nn.Module):
    """Convolutions (3x3, max-pooled to half the resolution, ReLU) and an LSTM over their output."""

    def __init__(self, config: ActorCriticConfig, image_size: int, memory_format: torch.memory_format) -> None:
        super().__init__()
        self.memory_format = memory_format
        inputs = (3, *config.channels[:-1])
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, 3, padding=1) for i, o in zip(inputs, config.channels, strict=True)
        )
        self.convolutions.to(memory_format=memory_format)  # type: ignore[call-overload]
        size = image_size >> len(config.channels)
        self.lstm = nn.LSTM(config.channels[-1] * size**2, config.lstm_dim, batch_first=True)

    def see(self, frames: Tensor) -> Tensor:
        """Frames (B, T, 3, S, S) in [0, 1] to features (B, T, F)."""
        h = (frames.flatten(0, 1) * 2 - 1).contiguous(memory_format=self.memory_format)
        for convolution in self.convolutions:
            h = F.relu(F.max_pool2d(convolution(h), 2))
        # The LSTM's weights read the features channel by channel, whatever the memory layout.
        return h.reshape(*frames.shape[:2], -1)

    def remember(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, T, F) and the state (2, B, H) before them: outputs (B, T, H) and the state after them."""
        hidden, cell = state.unsqueeze(1)
        outputs, (hidden, cell) = self.lstm(features, (hidden.contiguous(), cell.contiguous()))
        return outputs, torch.cat([hidden, cell])


class IRISActorCritic(nn.Module):
    """Policy over `action_size` actions and value, from one shared network or from one each."""

    def __init__(
        self,
        config: ActorCriticConfig,
        *,
        image_size: int,
        action_size: int,
        compute: ComputeConfig | None = None,
    ) -> None:
        super().__init__()
        layout = memory_format(compute or ComputeConfig())
        self.config = config
        count = 2 if config.separate_networks else 1
        self.networks = nn.ModuleList(RecurrentNetwork(config, image_size, layout) for _ in range(count))
        self.actor = nn.Linear(config.lstm_dim, action_size)
        self.critic = nn.Linear(config.lstm_dim, 1)

    def initial_state(self, batch_size: int) -> Tensor:
        """Zeros, (networks, 2, B, H): the hidden and the cell state of each network's LSTM."""
        return self.actor.weight.new_zeros(len(self.networks), 2, batch_size, self.config.lstm_dim)

    def forward(self, frames: Tensor, state: Tensor) -> PolicyOutput:
        """Frames (B, T, 3, S, S) in [0, 1], reconstructions, after `state`."""
        outputs, states = [], []
        for network, before in zip(self._each(), state, strict=True):
            output, after = network.remember(network.see(frames), before)
            outputs.append(output)
            states.append(after)
        values = self.critic(outputs[-1]).squeeze(-1).float()
        return PolicyOutput(self.actor(outputs[0]).float(), values, torch.stack(states))

    @torch.no_grad()
    def burn_in(self, frames: Tensor, mask: Tensor) -> Tensor:
        """The state after frames (B, T, 3, S, S), padded at the left where `mask` (B, T) is false."""
        state = self.initial_state(len(frames))
        if frames.shape[1] == 0:
            return state
        for i, network in enumerate(self._each()):
            features = network.see(frames)
            for t in range(frames.shape[1]):
                _, after = network.remember(features[:, t : t + 1], state[i])
                state[i] = torch.where(mask[:, t].unsqueeze(-1), after, state[i])
        return state

    def _each(self) -> list[RecurrentNetwork]:
        return [cast(RecurrentNetwork, network) for network in self.networks]
