"""Denoiser, sampler and reward/end model as one simulated environment. Section 3, Figure 1."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from wm_agent_diamond.config import SamplerConfig
from wm_agent_diamond.denoiser import Denoiser
from wm_agent_diamond.dream import Start
from wm_agent_diamond.rew_end_model import RewEndModel
from wm_agent_diamond.sampler import sample_next_frame
from wm_torchkit.sampling import sample


class WorldModelState(NamedTuple):
    """Where B dreams are."""

    obs: Tensor
    """(B, L, 3, S, S) in [-1, 1], the oldest first."""
    actions: Tensor
    """int64 (B, L); the last is still to be chosen."""
    memory_rew_end: Tensor
    """(2, B, H), the reward/end model's."""

    def replaced(self, lanes: Tensor, others: WorldModelState) -> WorldModelState:
        """A copy in which the dreams `lanes` (b,) are `others`."""
        return WorldModelState(
            self.obs.index_copy(0, lanes, others.obs),
            self.actions.index_copy(0, lanes, others.actions),
            self.memory_rew_end.index_copy(1, lanes, others.memory_rew_end),
        )


class WorldModel:
    """Steps dreams; owns no weights. Call it without gradient."""

    def __init__(self, denoiser: Denoiser, rew_end_model: RewEndModel, sampler: SamplerConfig) -> None:
        self._denoiser, self._rew_end_model, self._sampler = denoiser, rew_end_model, sampler

    def begin(self, start: Start) -> WorldModelState:
        """The reward/end model's memory is burnt in on the context, all steps of all dreams in one pass."""
        obs, actions = start
        memory = self._rew_end_model.initial_state(len(obs))
        if obs.shape[1] > 1 and memory.shape[2] > 0:
            memory = self._rew_end_model(obs[:, :-1], actions[:, :-1], obs[:, 1:], memory).state
        return WorldModelState(obs, actions, memory)

    def step(
        self, state: WorldModelState, actions: Tensor, generator: torch.Generator | None
    ) -> tuple[WorldModelState, Tensor, Tensor]:
        """One step with actions (B,): the state after it, rewards (B,) of -1, 0 or 1, and ends (B,), all sampled."""
        taken = torch.cat([state.actions[:, :-1], actions.unsqueeze(1)], dim=1)
        frames = sample_next_frame(self._denoiser, self._sampler, state.obs, taken, generator)
        out = self._rew_end_model(state.obs[:, -1:], actions.unsqueeze(1), frames.unsqueeze(1), state.memory_rew_end)
        rewards = sample(out.logits_rew[:, 0], generator).float() - 1
        ends = sample(out.logits_end[:, 0], generator).bool()
        obs = torch.cat([state.obs[:, 1:], frames.unsqueeze(1)], dim=1)
        shifted = torch.cat([taken[:, 1:], torch.zeros_like(taken[:, :1])], dim=1)
        return WorldModelState(obs, shifted, out.state), rewards, ends
