"""One training step: the world model on a batch, then behaviour in dreams that start from it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.layouts import StreamBatch
from wm_agent_dreamer.optimizers import LaProp, make_adam
from wm_agent_dreamer.replay_value import replay_value_loss
from wm_agent_dreamer.rssm import RSSMState
from wm_agent_dreamer.world_model import WorldModelLoss
from wm_torchkit.nan_guard import guarded_update


class DreamerLearner:
    """Updates an agent in place. `optimizers` hold all of its own state; the rest is in the agent.

    While `world_model_only`, behaviour stays as it is.
    """

    def __init__(self, agent: DreamerAgent) -> None:
        self.agent = agent
        self.world_model_only = False
        config, behaviour = agent.config.optimizers, agent.actor_critic
        self.optimizers: dict[str, torch.optim.Optimizer]
        if config.joint is not None:
            self.optimizers = {"joint": LaProp(trainable(agent), config.joint)}
        else:
            self.optimizers = {
                "world_model": make_adam(trainable(agent.world_model), config.world_model),
                "actor": make_adam(trainable(behaviour.actor), config.actor),
                "critic": make_adam(trainable(behaviour.critic), config.critic),
            }

    def update(
        self, batch: StreamBatch, generator: torch.Generator | None, initial: RSSMState | None = None
    ) -> dict[str, Tensor]:
        """One step on a batch; scalars to report. `NonFiniteError` where a loss or a gradient is not finite.

        `initial` (B, ...) are the states that precede the batch, when its streams continue others.
        """
        self.agent.train()
        if self.agent.config.optimizers.joint is not None:
            return self._joint_update(batch, generator, initial)
        metrics, posterior = self.update_world_model(batch, generator, initial)
        if not self.world_model_only:
            metrics |= self.update_behaviour(posterior, batch, generator)
        return metrics

    def update_world_model(
        self, batch: StreamBatch, generator: torch.Generator | None, initial: RSSMState | None = None
    ) -> tuple[dict[str, Tensor], RSSMState]:
        """One step of the world model alone; what to report, and the states (B, T, ...) of the batch."""
        loss = self._world_model_loss(batch, generator, initial)
        config = self.agent.config.optimizers.world_model
        norm = self._step("world_model", loss.total, self.agent.world_model, config.max_grad_norm)
        return {**loss.metrics, "world_model_gradient_norm": norm}, loss.posterior.state.detach()

    def update_behaviour(
        self, posterior: RSSMState, batch: StreamBatch, generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """One step of the actor and of the critic, from states (B, T, ...) of the batch; what to report."""
        agent, config = self.agent, self.agent.config
        with agent.precision():
            losses = agent.actor_critic.losses(agent.world_model, posterior, batch, generator)
            critic_loss = losses.critic
            if config.loss.replay_value:
                assert losses.start_returns is not None
                replayed = replay_value_loss(agent.actor_critic, posterior.features, batch, losses.start_returns)
                critic_loss = critic_loss + config.loss.replay_value * replayed
        behaviour, optimizers = agent.actor_critic, config.optimizers
        norms = {
            "actor_gradient_norm": self._step("actor", losses.actor, behaviour.actor, optimizers.actor.max_grad_norm),
            "critic_gradient_norm": self._step(
                "critic", critic_loss, behaviour.critic, optimizers.critic.max_grad_norm
            ),
        }
        behaviour.update_slow_critic()
        return {**losses.metrics, **norms}

    def _joint_update(
        self, batch: StreamBatch, generator: torch.Generator | None, initial: RSSMState | None
    ) -> dict[str, Tensor]:
        agent, config = self.agent, self.agent.config
        loss = self._world_model_loss(batch, generator, initial)
        total, metrics = loss.total, dict(loss.metrics)
        if not self.world_model_only:
            state = loss.posterior.state
            with agent.precision():
                losses = agent.actor_critic.losses(agent.world_model, state, batch, generator)
                total = total + losses.actor + losses.critic
                if config.loss.replay_value:
                    assert losses.start_returns is not None
                    replayed = replay_value_loss(agent.actor_critic, state.features, batch, losses.start_returns)
                    total = total + config.loss.replay_value * replayed
                    metrics["replay_value_loss"] = replayed.detach()
            metrics |= losses.metrics
        metrics["gradient_norm"] = self._step("joint", total, agent, float("inf"))
        if not self.world_model_only:
            agent.actor_critic.update_slow_critic()
        return metrics

    def _world_model_loss(
        self, batch: StreamBatch, generator: torch.Generator | None, initial: RSSMState | None
    ) -> WorldModelLoss:
        with self.agent.precision():
            return self.agent.world_model.loss(batch, generator, initial)

    def _step(self, name: str, loss: Tensor, module: nn.Module, max_norm: float) -> Tensor:
        return guarded_update(loss, self.optimizers[name], module.named_parameters(), max_norm, f"the {name} update")


def trainable(module: nn.Module) -> list[Tensor]:
    """Its parameters, without the slow copies."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]
