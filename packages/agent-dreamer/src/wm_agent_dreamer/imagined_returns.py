"""Which return belongs to which imagined state and action, and how much it weighs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wm_agent_dreamer.config import ImaginationConfig
from wm_torchkit.returns import lambda_returns


@dataclass(frozen=True)
class ImaginedReturns:
    """Of N imagined trajectories s_0 .. s_H with actions a_0 .. a_{H-1}."""

    value_targets: Tensor
    """(N, H): of the values of s_0 .. s_{H-1}."""
    value_weights: Tensor
    """(N, H), constants: the chance that the state is reached, discounted."""
    action_returns: Tensor
    """(N, K), K <= H: what followed a_0 .. a_{K-1}."""
    action_weights: Tensor
    """(N, K), constants."""


def imagined_returns(rewards: Tensor, discounts: Tensor, values: Tensor, config: ImaginationConfig) -> ImaginedReturns:
    """From rewards, discounts and values of s_0 .. s_H, (N, H + 1) each.

    The reward of s_t came with its arrival; its discount is gamma times the chance that the episode goes on after it.
    With `value_counts` 'following' (V3, eq. 6): R_t = r_{t+1} + d_{t+1} ((1 - lambda) v_{t+1} + lambda R_{t+1}) is
    both the target of v_t and the return of a_t, and ended states weigh nothing.
    With 'arrival' (V1, eq. 6; V2, eq. 4): R_t = r_t + d_t ((1 - lambda) v_{t+1} + lambda R_{t+1}) is the target of
    v_t, and the return of a_t is R_{t+1}, so that the last action has none.
    """
    if config.value_counts == "following":
        targets = lambda_returns(rewards[:, 1:], values[:, 1:], discounts[:, 1:], config.lambda_)
        weights = discounts[:, :-1].detach().cumprod(1) / config.gamma
        return ImaginedReturns(targets, weights, targets, weights)
    targets = lambda_returns(rewards[:, :-1], values[:, 1:], discounts[:, :-1], config.lambda_)
    reached = torch.cat([torch.ones_like(discounts[:, :1]), discounts[:, :-2]], 1)
    weights = reached.detach().cumprod(1)
    return ImaginedReturns(targets, weights, targets[:, 1:], weights[:, :-1])
