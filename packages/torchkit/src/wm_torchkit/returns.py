"""Lambda returns, for all agents that learn from imagined rewards."""

from __future__ import annotations

import torch
from torch import Tensor

from wm_core.errors import UsageError


def lambda_returns(
    rewards: Tensor, next_values: Tensor, discounts: Tensor, lam: float, truncated: Tensor | None = None
) -> Tensor:
    """TD(lambda) targets of T steps, shape `(..., T)` as all arguments; time is the last axis.

    With reward r_t of step t, value V_{t+1} of the state it leads to, and discount c_t = gamma * (1 - end_t)
    (or gamma times a predicted chance to go on):

        G_t = r_t + c_t * ((1 - lambda) * V_{t+1} + lambda * G_{t+1}),    G_T = V_T

    so the last value bootstraps. Where `truncated` (bool), the episode was cut without an end: the step
    bootstraps from V_{t+1} alone, that is with lambda = 0.

    Sources: IRIS (Micheli et al. 2023, section 2.3 and appendix), whose last step only bootstraps: pass
    `rewards[:, :-1]`, `values[:, 1:]`; DIAMOND (Alonso et al. 2024), which has `truncated`; Dreamer V1-V3
    (Hafner et al. 2020, eq. 6; 2021, eq. 4; 2023, eq. 11), where gradients flow through rewards and values.
    """
    if not rewards.shape == next_values.shape == discounts.shape or rewards.ndim == 0 or rewards.shape[-1] == 0:
        shapes = f"{tuple(rewards.shape)}, {tuple(next_values.shape)}, {tuple(discounts.shape)}"
        raise UsageError(f"rewards, next values and discounts of shapes {shapes}; expected the same (..., T >= 1)")
    lambdas = torch.full_like(rewards, lam) if truncated is None else lam * (~truncated).to(rewards.dtype)
    one_step = rewards + discounts * (1 - lambdas) * next_values
    carry = discounts * lambdas
    target = next_values[..., -1]
    targets = []
    for t in range(rewards.shape[-1] - 1, -1, -1):
        target = one_step[..., t] + carry[..., t] * target
        targets.append(target)
    return torch.stack(targets[::-1], dim=-1)
