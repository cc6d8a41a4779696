"""Trajectories that the policy, or given actions, dream up from states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wm_agent_dreamer.actor import Actor
from wm_agent_dreamer.rssm import RSSM, RSSMState


@dataclass(frozen=True)
class Trajectory:
    """N dreams of H steps."""

    features: Tensor
    """(N, H + 1, F): of s_0 .. s_H."""
    actions: Tensor
    """(N, H, A): a_t is taken in s_t."""
    actor_outputs: Tensor | None
    """(N, H, O), with the actor's graph; None when the actions were given."""


@contextmanager
def frozen(*modules: nn.Module | None) -> Iterator[None]:
    """What is computed inside has no gradient to the parameters of these modules, though it may to its inputs."""
    changed = [p for module in modules if module is not None for p in module.parameters() if p.requires_grad]
    for parameter in changed:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in changed:
            parameter.requires_grad_(True)


def imagine(
    rssm: RSSM,
    actor: Actor,
    start: RSSMState,
    horizon: int,
    generator: torch.Generator | None,
    *,
    differentiable: bool = False,
    actions: Tensor | None = None,
) -> Trajectory:
    """Roll the prior out from `start` (N, ...), with the actor's sampled actions, or with `actions` (N, H, A).

    The actor reads states as constants. Only when `differentiable` do states carry the gradient of the actions that
    led to them; otherwise the RSSM records no graph, and the actor's outputs are all that has one.
    """
    count, device = len(start.deter), start.deter.device
    latent_noise = rssm.draw_noise((horizon, count), generator, device)
    action_noise = actor.draw_noise((horizon, count), generator, device)
    records = torch.is_grad_enabled()
    state, states, taken, outputs = start, [start.features], [], []
    for t in range(horizon):
        if actions is None:
            output = actor(states[-1].detach())
            outputs.append(output)
            policy = actor.distribution(output if differentiable else output.detach())
            action = policy.sample(action_noise[t])
        else:
            action = actions[:, t]
        with torch.set_grad_enabled(records and differentiable):
            state = rssm.imagine_step(state, actor.applied(action), latent_noise[t])
            states.append(state.features)
        taken.append(action)
    return Trajectory(torch.stack(states, 1), torch.stack(taken, 1), torch.stack(outputs, 1) if outputs else None)
