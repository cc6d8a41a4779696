"""Unroll the policy in the world model. Section 2.3, Figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from wm_agent_iris.actor_critic import IRISActorCritic
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer
from wm_agent_iris.world_model.world_model import IRISWorldModel
from wm_torchkit.sampling import sample


class Context(NamedTuple):
    """Where dreams begin: the tokens of B real frames, and what led up to them.

    Tokens and reconstructions of a frozen tokenizer may be stored and used again.
    """

    tokens: Tensor
    """int64 (B, K), of the frames from which the dreams go on."""
    frames: Tensor
    """(B, 3, S, S) in [0, 1], those frames reconstructed."""
    burn_in: Tensor
    """(B, T, 3, S, S) in [0, 1], the frames before them, reconstructed; T may be 0."""
    mask: Tensor
    """bool (B, T), false on padding, which is at the left."""


@dataclass(frozen=True)
class Dream:
    """H imagined steps of B dreams."""

    frames: Tensor
    """(B, H, 3, S, S) in [0, 1], what the policy saw before each action; the first is the context's."""
    actions: Tensor
    """int64 (B, H)"""
    rewards: Tensor
    """float (B, H)"""
    ends: Tensor
    """bool (B, H). A dream goes on after an end, as it was published; see `alive`."""
    state: Tensor
    """The policy's, before the first frame."""
    last_frame: Tensor | None
    """(B, 3, S, S), what the last action led to; None when it was not asked for."""

    def alive(self) -> Tensor:
        """bool (B, H), true up to and including the first end."""
        ended_before = self.ends.long().cumsum(1) - self.ends.long()
        return ended_before == 0


@torch.no_grad()
def imagine(
    tokenizer: IRISTokenizer,
    world_model: IRISWorldModel,
    actor_critic: IRISActorCritic,
    context: Context,
    state: Tensor,
    *,
    horizon: int,
    generator: torch.Generator | None,
    temperature: float = 1.0,
    actions: Tensor | None = None,
    with_last_frame: bool = False,
) -> Dream:
    """Dream `horizon` steps on from `context`, the policy in `state`; its own actions, or those given (B, H).

    Nothing here waits for the device. `generator` is on the device of the models.
    """
    cache = world_model.imagine_from(context.tokens)
    before, frame = state, context.frames
    frames, chosen, rewards, ends = [], [], [], []
    for t in range(horizon):
        if actions is None:
            policy = actor_critic(frame.unsqueeze(1), state)
            state = policy.state
            action = sample(policy.logits[:, 0], generator, temperature)
        else:
            action = actions[:, t]
        wanted = with_last_frame or t + 1 < horizon
        step = world_model.step(cache, action, generator, with_frame=wanted)
        frames.append(frame)
        chosen.append(action)
        rewards.append(step.rewards)
        ends.append(step.ends)
        if step.tokens is not None:
            frame = tokenizer.decode(step.tokens)
    return Dream(
        frames=torch.stack(frames, 1),
        actions=torch.stack(chosen, 1),
        rewards=torch.stack(rewards, 1),
        ends=torch.stack(ends, 1),
        state=before,
        last_frame=frame if with_last_frame else None,
    )
