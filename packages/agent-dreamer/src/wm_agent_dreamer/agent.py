"""Dreamer: the world model and the behaviour learnt in it, and what one does with them together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from wm_agent_dreamer.actor_critic import ActorCritic
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.imagination import imagine
from wm_agent_dreamer.initialisation import initialise
from wm_agent_dreamer.layouts import ActionLayout, Observation, ObservationLayout
from wm_agent_dreamer.networks.scalar_head import ScalarNetwork
from wm_agent_dreamer.rssm import RSSMState
from wm_agent_dreamer.world_model import WorldModel
from wm_torchkit.device import autocast


@dataclass(frozen=True)
class PolicyState:
    """What the policy remembers of B lanes: the states of the RSSM, and the actions (B, A) taken in them."""

    rssm: RSSMState
    action: Tensor


@dataclass(frozen=True)
class Dream:
    """An open-loop rollout of H steps from B states."""

    features: Tensor
    """(B, H, F): of the states after each step."""
    observation: Observation
    """Decoded from them, (B, H, ...); pixels in [0, 1]."""
    rewards: Tensor
    """(B, H), as the replay holds them."""
    continues: Tensor
    """(B, H): the chance that the episode goes on after the step, in [0, 1]."""
    actions: Tensor
    """(B, H, A): one-hot, or in [-1, 1]."""


class DreamerAgent(nn.Module):
    """The whole agent. Generators are on its device."""

    def __init__(self, config: DreamerConfig, observation: ObservationLayout, action: ActionLayout) -> None:
        super().__init__()
        self.config, self.observation, self.action = config, observation, action
        self.world_model = WorldModel(config, observation, action)
        self.actor_critic = ActorCritic(config, action)
        self._draw_weights()

    @classmethod
    def from_config(
        cls,
        config: DreamerConfig,
        *,
        observation: ObservationLayout,
        action: ActionLayout,
        device: str | torch.device = "cpu",
        seed: int = 0,
    ) -> Self:
        """A fresh agent in evaluation mode; its weights depend on `seed` alone."""
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            agent = cls(config, observation, action)
        return agent.to(device).eval()

    @torch.no_grad()
    def _draw_weights(self) -> None:
        initialise(self, self.config)
        heads, behaviour = self.config.heads, self.actor_critic
        scaled = [(behaviour.actor.mlp, heads.actor_output_scale)]
        for scalar in (self.world_model.reward, behaviour.critic):
            scaled += [(scalar.mlp, heads.scalar_output_scale)] if scalar.bins is not None else []
        for mlp, scale in scaled:
            assert mlp.output is not None
            mlp.output.weight.mul_(scale)
        if behaviour.slow_critic is not None:
            behaviour.slow_critic.load_state_dict(behaviour.critic.state_dict())

    @property
    def actor(self) -> nn.Module:
        """The policy network."""
        return self.actor_critic.actor

    @property
    def critic(self) -> ScalarNetwork:
        """The value network."""
        return self.actor_critic.critic

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.actor_critic.critic_updates.device

    def precision(self) -> AbstractContextManager[object]:
        """The autocast of `compute.precision`."""
        return autocast(self.device, self.config.compute.precision)

    @torch.no_grad()
    def initial_state(self, batch: int) -> PolicyState:
        """Before the first observations of `batch` lanes."""
        return PolicyState(
            self.world_model.rssm.initial_state(batch), torch.zeros(batch, self.action.size).to(self.device)
        )

    @torch.no_grad()
    def policy_step(
        self,
        observation: Observation,
        state: PolicyState,
        *,
        is_first: Tensor,
        generators: Sequence[torch.Generator],
        mode: bool = False,
    ) -> tuple[Tensor, PolicyState]:
        """Actions (B, A) for observations (B, ...), and the state to pass with the next ones.

        Where `is_first` (B,) bool, an episode begins, and what `state` holds of that lane is forgotten. Each lane has
        its own generator (on the CPU), which gives the noise of its latent, then of its action. With `mode` the action
        is the most probable one; the latent is still drawn.
        """
        rssm, actor = self.world_model.rssm, self.actor_critic.actor
        cpu = torch.device("cpu")
        latent_noise = torch.cat([rssm.draw_noise((1,), generator, cpu) for generator in generators])
        action_noise = torch.cat([actor.draw_noise((1,), generator, cpu) for generator in generators])
        with self.precision():
            embedding = self.world_model.encoder(observation.to(self.device))
            posterior = rssm.observe(
                embedding.unsqueeze(1),
                state.action.unsqueeze(1),
                is_first.to(self.device).unsqueeze(1),
                latent_noise.to(self.device).unsqueeze(0),
                state.rssm,
            )
            policy = actor.distribution(actor(posterior.final.features))
        action = actor.applied(policy.mode if mode else policy.sample(action_noise.to(self.device)))
        return action, PolicyState(posterior.final, action)

    @torch.no_grad()
    def imagine(
        self,
        start: RSSMState,
        horizon: int,
        *,
        actions: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Dream:
        """Dream on from states (B, ...) with the policy, or with the actions given (B, H, A)."""
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; a dream has at least 1 step")
        expected = (len(start.deter), horizon, self.action.size)
        if actions is not None and actions.shape != expected:
            raise ValueError(f"actions must be {expected}, not {tuple(actions.shape)}")
        model = self.world_model
        with self.precision():
            dream = imagine(model.rssm, self.actor_critic.actor, start, horizon, generator, actions=actions)
            features = dream.features[:, 1:]
            observation = model.decoder.observation(model.decoder(features))
            rewards, discounts = model.predicted_rewards(features), model.discounts(features)
        continues = (discounts / self.config.imagination.gamma).clamp(max=1)
        return Dream(features, observation, rewards, continues, self.actor_critic.actor.applied(dream.actions))
