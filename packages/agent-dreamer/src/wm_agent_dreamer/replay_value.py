"""The critic's loss on replayed states, of DreamerV3's later version."""

from __future__ import annotations

import torch
from torch import Tensor

from wm_agent_dreamer.actor_critic import ActorCritic
from wm_agent_dreamer.config import ImaginationConfig
from wm_agent_dreamer.layouts import StreamBatch
from wm_torchkit.returns import lambda_returns


def replay_returns(batch: StreamBatch, start_returns: Tensor, config: ImaginationConfig) -> tuple[Tensor, Tensor]:
    """Lambda returns (B, T - 1) of replayed rewards, and where they hold.

    The returns imagined at each state (B, T) take the values' place. An episode that was cut bootstraps from its last
    state. They do not hold at the last record of an episode, which the next one's first follows.
    """
    opens = batch.is_first[:, 1:]
    last = torch.cat([opens[:, 1:], torch.zeros_like(opens[:, :1])], 1) | batch.is_terminal[:, 1:]
    discounts = config.gamma * (~batch.is_terminal[:, 1:]).float()
    targets = lambda_returns(batch.reward[:, 1:], start_returns[:, 1:], discounts, config.lambda_, truncated=last)
    return targets, ~(opens | batch.is_terminal[:, :-1])


def replay_value_loss(actor_critic: ActorCritic, features: Tensor, batch: StreamBatch, start_returns: Tensor) -> Tensor:
    """The mean over records of the critic's loss on features (B, T, F), through which the gradient goes."""
    targets, holds = replay_returns(batch, start_returns, actor_critic.config.imagination)
    critic, slow_critic = actor_critic.critic, actor_critic.slow_critic
    outputs = critic(features[:, :-1])
    loss = critic.loss(outputs, targets)
    if actor_critic.config.critic.slow == "regulariser":
        assert slow_critic is not None
        with torch.no_grad():
            slow = slow_critic.predict(slow_critic(features[:, :-1]))
        loss = loss + critic.loss(outputs, slow)
    return (holds * loss).mean()
