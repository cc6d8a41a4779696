"""Learning to act from a dream: lambda-returns, REINFORCE with the value as baseline. Section 2.3, Appendix A.3."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_iris.config import ImaginationConfig
from wm_agent_iris.imagination import Dream
from wm_torchkit.returns import lambda_returns


@dataclass(frozen=True)
class ActorCriticLoss:
    """`total` is to be minimised, a scalar with gradient; the others say how it goes."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    """Of the policy, in nats, averaged."""
    imagined_reward: Tensor
    """A step."""
    imagined_return: Tensor
    """The lambda-return of the first step, averaged."""

    def metrics(self) -> dict[str, Tensor]:
        """All of them by name, detached."""
        return {name: value.detach() for name, value in vars(self).items()}


def compute_lambda_return(rewards: Tensor, values: Tensor, ends: Tensor, gamma: float, lambda_: float) -> Tensor:
    """Lambda-returns of H steps, all (B, H): equation 6.

    G_t = r_t + gamma (1 - d_t) ((1 - lambda) V_{t+1} + lambda G_{t+1}), and G_{H-1} = V_{H-1}: the last step only
    bootstraps.
    """
    if not rewards.shape == values.shape == ends.shape:
        shapes = tuple(rewards.shape), tuple(values.shape), tuple(ends.shape)
        raise ValueError(f"rewards, values and ends must be alike, not {shapes}")
    discounts = gamma * (~ends[:, :-1].bool()).to(rewards.dtype)
    returns = lambda_returns(rewards[:, :-1], values[:, 1:], discounts, lambda_)
    return torch.cat([returns, values[:, -1:]], dim=1)


def actor_critic_loss(dream: Dream, logits: Tensor, values: Tensor, config: ImaginationConfig) -> ActorCriticLoss:
    """The loss of H dreamt steps, given the policy's `logits` (B, H, A) and `values` (B, H) on their frames.

    The first H-1 steps are learned from. With `stop_at_end`, those after an imagined end are left out.
    """
    returns = compute_lambda_return(dream.rewards, values.detach(), dream.ends, config.gamma, config.lambda_)
    returns, values = returns[:, :-1], values[:, :-1]
    log_policy = F.log_softmax(logits[:, :-1], dim=-1)
    log_chosen = log_policy.gather(-1, dream.actions[:, :-1, None]).squeeze(-1)
    entropies = -(log_policy.exp() * log_policy).sum(-1)

    weights = dream.alive()[:, :-1].float() if config.stop_at_end else torch.ones_like(returns)
    weights = weights / weights.sum()
    policy = -(log_chosen * (returns - values.detach()) * weights).sum()
    value = ((values - returns).square() * weights).sum()
    entropy = (entropies * weights).sum()
    total = policy + config.value_weight * value - config.entropy_weight * entropy
    reward = (dream.rewards[:, :-1] * weights).sum()
    return ActorCriticLoss(total, policy, value, entropy, reward, returns[:, 0].mean())
