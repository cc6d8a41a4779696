"""The reward and termination model R_psi: two classifiers on an LSTM. Section 3.3 and Appendix D."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_diamond.config import ComputeConfig, RewEndModelConfig
from wm_agent_diamond.networks.blocks import ResBlocks
from wm_agent_diamond.networks.convolutions import Conv2d, Downsample
from wm_agent_diamond.networks.group_norm import adaptive_norms, modulations
from wm_agent_diamond.networks.layout import memory_format
from wm_agent_diamond.networks.memory import blank_state, state_size
from wm_agent_diamond.networks.strided import StridedEncoder

REWARDS = 3
"""Classes of the sign of a reward: -1, 0, 1."""


class RewEndOutput(NamedTuple):
    """Over T steps of B sequences, float32."""

    logits_rew: Tensor
    """(B, T, 3): of -1, 0 and 1."""
    logits_end: Tensor
    """(B, T, 2): goes on, ends."""
    state: Tensor
    """(2, B, H), after the last step."""


class RewEndEncoder(nn.Module):
    """Levels of residual blocks, conditioned on the action, and blocks with attention at the lowest resolution."""

    def __init__(self, config: RewEndModelConfig) -> None:
        super().__init__()
        channels, dim, size = config.channels, config.condition_dim, config.group_size
        before = (channels[0], *channels[:-1])
        self.conv_in = Conv2d(6, channels[0], 3, padding=1)
        levels = [
            ResBlocks([c1, *[c2] * (n - 1)], [c2] * n, dim, size)
            for c1, c2, n in zip(before, channels, config.residual_blocks, strict=True)
        ]
        middle = [channels[-1]] * config.middle_blocks
        self.blocks = nn.ModuleList([*levels, ResBlocks(middle, middle, dim, size, attention=True)])
        downs = [Downsample(c) for c in channels[:-1]]
        self.downsamples = nn.ModuleList([nn.Identity(), *downs, nn.Identity()])
        self._norms = adaptive_norms(self.blocks)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """(B, 6, S, S) and (B, D) to (B, C, S', S')."""
        each = iter(modulations(self._norms, condition))
        x = self.conv_in(x)
        for block, downsample in zip(self.blocks, self.downsamples, strict=True):
            x, _ = block(downsample(x), each)
        return x


class RewEndModel(nn.Module):
    """From a frame, an action and the next frame to the reward's sign and whether the episode ends."""

    def __init__(
        self, config: RewEndModelConfig, *, image_size: int, action_size: int, compute: ComputeConfig | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.layout = memory_format(compute or ComputeConfig())
        residual = config.architecture == "residual"
        self.encoder: nn.Module = RewEndEncoder(config) if residual else StridedEncoder(6, config.channels)
        self.encoder.to(memory_format=self.layout)  # type: ignore[call-overload]
        self.act_emb = nn.Embedding(action_size, config.condition_dim)
        side = image_size >> (len(config.channels) - residual)
        features = config.channels[-1] * side**2 + (0 if residual else config.condition_dim)
        if config.memory == "lstm":
            self.lstm = nn.LSTM(features, config.hidden_dim, batch_first=True)
        else:
            self.linear = nn.Sequential(nn.Linear(features, config.hidden_dim), nn.SiLU())
        self.head = nn.Sequential(
            nn.Linear(config.hidden_dim, config.hidden_dim),
            nn.SiLU(),
            nn.Linear(config.hidden_dim, REWARDS + 2, bias=False),
        )

    def initial_state(self, batch_size: int) -> Tensor:
        """Zeros (2, B, H): the hidden and the cell state of the LSTM. H is 0 without memory."""
        return blank_state(self.act_emb.weight, batch_size, state_size(self.config.memory, self.config.hidden_dim))

    def forward(self, obs: Tensor, actions: Tensor, next_obs: Tensor, state: Tensor | None = None) -> RewEndOutput:
        """T steps: frames before and after, each (B, T, 3, S, S) in [-1, 1], and actions (B, T).

        All T steps pass through the convolutions together, so a burn-in is one call.
        """
        b, t = actions.shape
        before = self.initial_state(b) if state is None else state
        pairs = torch.cat([obs, next_obs], dim=2).flatten(0, 1).contiguous(memory_format=self.layout)
        embedded = self.act_emb(actions.flatten())
        if self.config.architecture == "residual":
            features = self.encoder(pairs, embedded).flatten(1)
        else:
            features = torch.cat([self.encoder(pairs).flatten(1), embedded], dim=1)
        features = torch.unflatten(features, 0, (b, t))
        if self.config.memory == "lstm":
            hidden, cell = before.unsqueeze(1)
            hidden, (last, cell) = self.lstm(features, (hidden.contiguous(), cell.contiguous()))
            after = torch.cat([last, cell]).float()
        else:
            hidden, after = self.linear(features), before
        logits = self.head(hidden).float()
        return RewEndOutput(logits[..., :REWARDS], logits[..., REWARDS:], after)

    def loss(
        self, obs: Tensor, actions: Tensor, rewards: Tensor, ends: Tensor, mask: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropies of the reward's sign and of the end, summed, over the T steps that `mask` (B, T) counts.

        `obs` is (B, T + 1, 3, S, S): step t leads from frame t to frame t + 1, which after an end is the true final
        frame. Actions, rewards and ends are (B, T).
        """
        out = self(obs[:, :-1], actions, obs[:, 1:])
        sign, ended = rewards.sign().long() + 1, ends.long()
        weight = mask.float() / mask.sum().clamp(min=1)
        loss_rew = (F.cross_entropy(out.logits_rew.movedim(2, 1), sign, reduction="none") * weight).sum()
        loss_end = (F.cross_entropy(out.logits_end.movedim(2, 1), ended, reduction="none") * weight).sum()
        with torch.no_grad():
            metrics = {
                "loss_rew": loss_rew.detach(),
                "loss_end": loss_end.detach(),
                "accuracy_rew": ((out.logits_rew.argmax(-1) == sign) * weight).sum(),
                "accuracy_end": ((out.logits_end.argmax(-1) == ended) * weight).sum(),
            }
        return loss_rew + loss_end, metrics
