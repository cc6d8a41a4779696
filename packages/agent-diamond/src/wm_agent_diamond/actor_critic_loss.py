"""Learning to act from a dream: lambda-returns, REINFORCE with the value as baseline. Section 3.4."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_diamond.actor_critic import entropy
from wm_agent_diamond.config import ImaginationConfig
from wm_agent_diamond.dream import Dream
from wm_torchkit.returns import lambda_returns


def compute_lambda_returns(
    rewards: Tensor, ends: Tensor, truncs: Tensor, value_bootstrap: Tensor, gamma: float, lambda_: float
) -> Tensor:
    """Lambda-returns of H steps, all (B, H); `value_bootstrap` is V of the frame that step led to.

    With r the reward's sign, d an end and u a cut: G_t = r_t + gamma (1 - d_t) ((1 - lambda) V_{t+1} + lambda
    G_{t+1}), where after a cut, and after the last step, G_{t+1} = V_{t+1}.
    """
    discounts = gamma * (~ends.bool()).to(value_bootstrap.dtype)
    return lambda_returns(rewards.sign().to(value_bootstrap.dtype), value_bootstrap, discounts, lambda_, truncs.bool())


def actor_critic_loss(dream: Dream, config: ImaginationConfig) -> tuple[Tensor, dict[str, Tensor]]:
    """To be minimised, a scalar with gradient; and how it goes, by name, detached.

    Steps that `dream.alive` leaves out do not count.
    """
    returns = compute_lambda_returns(
        dream.rewards, dream.ends, dream.truncs, dream.value_bootstrap.detach(), config.gamma, config.lambda_
    )
    log_policy = F.log_softmax(dream.logits, dim=-1)
    log_chosen = log_policy.gather(-1, dream.actions.unsqueeze(-1)).squeeze(-1)
    weights = dream.alive.float() / dream.alive.sum()
    loss_actions = -(log_chosen * (returns - dream.values.detach()) * weights).sum()
    loss_values = config.value_weight * ((dream.values - returns).square() * weights).sum()
    mean_entropy = (entropy(dream.logits) * weights).sum()
    loss = loss_actions + loss_values - config.entropy_weight * mean_entropy
    metrics = {
        "loss_actions": loss_actions,
        "loss_values": loss_values,
        "entropy": mean_entropy,
        "imagined_reward": (dream.rewards * weights).sum(),
        "lambda_return": (returns * weights).sum(),
        "imagined_ends": (dream.ends.float() * weights).sum(),
    }
    return loss, {name: torch.as_tensor(value).detach() for name, value in metrics.items()}
