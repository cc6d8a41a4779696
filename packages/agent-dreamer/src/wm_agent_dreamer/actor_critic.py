"""Behaviour learnt in imagination: the actor's and the critic's losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wm_agent_dreamer.actor import Actor
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.imagination import Trajectory, frozen, imagine
from wm_agent_dreamer.imagined_returns import ImaginedReturns, imagined_returns
from wm_agent_dreamer.layouts import ActionLayout, StreamBatch
from wm_agent_dreamer.networks.scalar_head import ScalarNetwork
from wm_agent_dreamer.return_normaliser import ReturnNormaliser
from wm_agent_dreamer.rssm import RSSMState
from wm_agent_dreamer.world_model import WorldModel


@dataclass(frozen=True)
class BehaviourLosses:
    """What a dream says of the policy and of the values."""

    actor: Tensor
    critic: Tensor
    metrics: Mapping[str, Tensor]
    """Scalars without graph."""
    start_returns: Tensor | None
    """The lambda returns (B, T) of the states it started from, constants; None when only some of them did."""


class ActorCritic(nn.Module):
    """Actor, critic, the critic's slow copy, and the scale of returns."""

    critic_updates: Tensor

    def __init__(self, config: DreamerConfig, action: ActionLayout) -> None:
        super().__init__()
        self.config = config
        self.actor = Actor(config, action)
        self.critic = self._new_critic()
        self.slow_critic = None if config.critic.slow == "none" else self._new_critic().requires_grad_(False)
        self.return_normaliser = ReturnNormaliser(config.actor.return_decay, config.actor.return_limit)
        self.register_buffer("critic_updates", torch.zeros((), dtype=torch.int64))

    def _new_critic(self) -> ScalarNetwork:
        heads, features = self.config.heads, self.config.rssm.feature_size
        return ScalarNetwork(
            features,
            layers=heads.critic_layers,
            kind=self.config.critic.kind,
            config=heads,
            one_hots=self.config.rssm.one_hots,
        )

    def losses(
        self, world_model: WorldModel, posterior: RSSMState, batch: StreamBatch, generator: torch.Generator | None
    ) -> BehaviourLosses:
        """Imagine from states (B, T, ...) of a batch, which are constants here, and learn from that.

        Takes the returns into the normaliser. The world model gets no gradient.
        """
        config = self.config.imagination
        start, is_terminal = posterior.detach().flatten(), batch.is_terminal.flatten()
        if config.starts is not None and config.starts < len(is_terminal):
            chosen = torch.randperm(len(is_terminal), generator=generator, device=is_terminal.device)[: config.starts]
            start, is_terminal = start[chosen], is_terminal[chosen]
        differentiable = self.actor.gradient != "reinforce"
        with frozen(world_model):
            dream = imagine(
                world_model.rssm, self.actor, start, config.horizon, generator, differentiable=differentiable
            )
        features = dream.features.detach()
        outputs = self.critic(features)
        with torch.no_grad():
            slow = None if self.slow_critic is None else self.slow_critic.predict(self.slow_critic(features))
        with frozen(world_model, self.critic), torch.set_grad_enabled(differentiable):
            if self.config.critic.slow == "target":
                assert self.slow_critic is not None
                assert slow is not None
                values = self.slow_critic.predict(self.slow_critic(dream.features)) if differentiable else slow
            else:
                values = self.critic.predict(self.critic(dream.features) if differentiable else outputs)
            rewards = world_model.predicted_rewards(dream.features)
            discounts = world_model.discounts(dream.features)
            if config.first_continue == "replay":
                known = config.gamma * (~is_terminal).float()
                discounts = torch.cat([known.unsqueeze(1), discounts[:, 1:]], 1)
            returns = imagined_returns(rewards, discounts, values, config)
        critic, critic_metrics = self._critic_loss(outputs, slow, returns)
        actor, actor_metrics = self._actor_loss(dream, returns, values.detach())
        metrics = critic_metrics | actor_metrics | {"imagined_reward": rewards[:, 1:].detach().mean()}
        all_starts = len(start.deter) == batch.is_terminal.numel()
        first = returns.action_returns[:, 0].detach().view_as(batch.reward) if all_starts else None
        return BehaviourLosses(actor, critic, metrics, first)

    def _critic_loss(
        self, outputs: Tensor, slow: Tensor | None, returns: ImaginedReturns
    ) -> tuple[Tensor, dict[str, Tensor]]:
        predicted = outputs[:, :-1]
        loss = self.critic.loss(predicted, returns.value_targets.detach())
        if self.config.critic.slow == "regulariser":
            assert slow is not None
            loss = loss + self.critic.loss(predicted, slow[:, :-1])
        loss = (returns.value_weights * loss).mean()
        with torch.no_grad():
            value = self.critic.predict(predicted).mean()
        return loss, {"critic_loss": loss.detach(), "value": value, "return": returns.value_targets.detach().mean()}

    def _actor_loss(
        self, dream: Trajectory, returns: ImaginedReturns, values: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """`values` are those of s_0 .. s_H, and no gradient goes through them."""
        config, gradient = self.config.actor, self.actor.gradient
        assert dream.actor_outputs is not None
        kept = returns.action_returns.shape[1]
        policy = self.actor.distribution(dream.actor_outputs[:, :kept])
        actions, achieved = dream.actions[:, :kept], returns.action_returns
        scale = self.return_normaliser.update(achieved.detach()) if config.normalise_returns else 1.0
        advantage = ((achieved - values[:, :kept]) / scale).detach()
        objective = torch.zeros_like(advantage)
        share = {"reinforce": 0.0, "both": config.dynamics_share, "dynamics": 1.0}[gradient]
        if share < 1:
            objective = objective + (1 - share) * policy.log_prob(actions.detach()) * advantage
        if share > 0:
            objective = objective + share * achieved / scale
        entropy = policy.entropy(actions)
        loss = -(returns.action_weights * (objective + config.entropy * entropy)).mean()
        metrics = {"actor_loss": loss.detach(), "policy_entropy": entropy.detach().mean()}
        if config.normalise_returns:
            metrics["return_scale"] = self.return_normaliser.scale
        return loss, metrics | {"advantage": advantage.mean()}

    @torch.no_grad()
    def update_slow_critic(self) -> None:
        """To be called after each update of the critic; mixes it into its copy when that is due."""
        self.critic_updates += 1
        config = self.config.critic
        if self.slow_critic is None or int(self.critic_updates) % config.slow_every:
            return
        for slow, fast in zip(self.slow_critic.parameters(), self.critic.parameters(), strict=True):
            slow.lerp_(fast, config.slow_fraction)
