"""DreamerV3's two updates written as they read in the paper, for `dreamer.py` to be compared with.

The networks, losses and optimizers are those of the package; what differs is how they are used: the prior and the
products of embeddings and actions are computed in the time loop, from `torch.distributions` objects, results grow by
`torch.cat`, imagination records the graph of the RSSM, and the policy is run again for its loss. Discrete actions,
categorical latents.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Independent, OneHotCategorical, OneHotCategoricalStraightThrough, kl_divergence
from torch.nn import functional as F

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.imagination import frozen
from wm_agent_dreamer.layouts import StreamBatch
from wm_agent_dreamer.learner import trainable
from wm_agent_dreamer.optimizers import make_adam
from wm_agent_dreamer.rssm import RSSMState
from wm_torchkit.nan_guard import guarded_update
from wm_torchkit.returns import lambda_returns


class PlainLearner:
    """Updates an agent in place, as `wm_agent_dreamer.learner.DreamerLearner` does with three optimizers."""

    def __init__(self, agent: DreamerAgent) -> None:
        self.agent = agent
        config, behaviour = agent.config.optimizers, agent.actor_critic
        self.world_model = make_adam(trainable(agent.world_model), config.world_model)
        self.actor = make_adam(trainable(behaviour.actor), config.actor)
        self.critic = make_adam(trainable(behaviour.critic), config.critic)

    def update_world_model(self, batch: StreamBatch) -> RSSMState:
        """One step; the states (B, T, ...) of the batch."""
        model, config = self.agent.world_model, self.agent.config
        state, posterior, prior = self._observe(batch)
        features = state.features
        total = model.decoder.losses(model.decoder(features), batch.observation)["image"].mean()
        total = total + model.reward.loss(model.reward(features), batch.reward).mean()
        assert model.continues is not None
        logits = model.continues(features).squeeze(-1)
        total = total + F.binary_cross_entropy_with_logits(logits, (~batch.is_terminal).float())
        dynamics = kl_divergence(self._latents(posterior.detach()), self._latents(prior))
        representation = kl_divergence(self._latents(posterior), self._latents(prior.detach()))
        for scale, divergence in (
            (config.loss.dynamics_scale, dynamics),
            (config.loss.representation_scale, representation),
        ):
            total = total + scale * divergence.clamp(min=config.loss.free_nats).mean()
        limit = config.optimizers.world_model.max_grad_norm
        guarded_update(total, self.world_model, model.named_parameters(), limit, "the world model")
        return state.detach()

    def update_behaviour(self, start: RSSMState) -> None:
        """One step of actor and critic from states (B, T, ...)."""
        agent, config = self.agent, self.agent.config
        model, behaviour = agent.world_model, agent.actor_critic
        assert behaviour.slow_critic is not None
        with frozen(model):
            features, actions = self._imagine(start.flatten())
        rewards = model.predicted_rewards(features)
        discounts = model.discounts(features)
        values = behaviour.critic.predict(behaviour.critic(features))
        returns = lambda_returns(rewards[:, 1:], values[:, 1:], discounts[:, 1:], config.imagination.lambda_)
        weights = (discounts[:, :-1].cumprod(1) / config.imagination.gamma).detach()
        scale = behaviour.return_normaliser.update(returns.detach())
        policy = self._policy(features[:, :-1].detach())
        advantage = ((returns - values[:, :-1]) / scale).detach()
        objective = policy.log_prob(actions.detach()) * advantage + config.actor.entropy * policy.entropy()
        limit = config.optimizers.actor.max_grad_norm
        # the gradient through the dream, which REINFORCE multiplies by 0, is computed all the same
        actor = -(weights * (objective + 0.0 * returns)).mean()
        self.actor.zero_grad()
        outputs = behaviour.critic(features[:, :-1].detach())
        slow = behaviour.slow_critic.predict(behaviour.slow_critic(features[:, :-1].detach())).detach()
        critic = behaviour.critic.loss(outputs, returns.detach()) + behaviour.critic.loss(outputs, slow)
        guarded_update(actor, self.actor, behaviour.actor.named_parameters(), limit, "the actor")
        critic = (weights * critic).mean()
        limit = config.optimizers.critic.max_grad_norm
        guarded_update(critic, self.critic, behaviour.critic.named_parameters(), limit, "the critic")
        behaviour.update_slow_critic()

    def _observe(self, batch: StreamBatch) -> tuple[RSSMState, Tensor, Tensor]:
        """States, and the parameters of posterior and prior."""
        model = self.agent.world_model
        rssm, embedding = model.rssm, model.encoder(batch.observation)
        initial = rssm.initial_state(len(batch.reward))
        deter, stoch = initial.deter, initial.stoch
        grown: list[Tensor] = []
        for t in range(batch.reward.shape[1]):
            first = batch.is_first[:, t].unsqueeze(-1)
            deter, stoch = torch.where(first, initial.deter, deter), torch.where(first, initial.stoch, stoch)
            action = batch.action[:, t] * ~first
            deter = rssm.recurrence(deter, stoch, rssm.recurrence.project_actions(action))
            prior = rssm.prior(deter)
            self._latents(prior).rsample()
            hidden = rssm.activation(rssm.posterior_norm(rssm.posterior_input(deter, embedding[:, t])))
            posterior = rssm.posterior_network(hidden)
            stoch = self._latents(posterior).rsample().flatten(-2)
            new = [part.unsqueeze(1) for part in (deter, stoch, posterior, prior)]
            grown = [torch.cat(parts, 1) for parts in zip(grown, new, strict=True)] if grown else new
        return RSSMState(grown[0], grown[1]), grown[2], grown[3]

    def _imagine(self, state: RSSMState) -> tuple[Tensor, Tensor]:
        """Features (N, H + 1, F) and actions (N, H, A)."""
        rssm = self.agent.world_model.rssm
        features, actions = state.features.unsqueeze(1), None
        for _ in range(self.agent.config.imagination.horizon):
            action = self._policy(state.features.detach()).rsample()
            deter = rssm.recurrence(state.deter, state.stoch, rssm.recurrence.project_actions(action))
            state = RSSMState(deter, self._latents(rssm.prior(deter)).rsample().flatten(-2))
            features = torch.cat([features, state.features.unsqueeze(1)], 1)
            new = action.unsqueeze(1)
            actions = new if actions is None else torch.cat([actions, new], 1)
        assert actions is not None
        return features, actions

    def _latents(self, logits: Tensor) -> Independent:
        config = self.agent.config.rssm
        logits = logits.unflatten(-1, (config.stoch, config.classes))
        return Independent(OneHotCategoricalStraightThrough(probs=self._mixed(logits, config.unimix)), 1)

    def _policy(self, features: Tensor) -> OneHotCategorical:
        logits = self.agent.actor_critic.actor(features)
        return OneHotCategoricalStraightThrough(probs=self._mixed(logits, self.agent.config.actor.unimix))

    @staticmethod
    def _mixed(logits: Tensor, unimix: float) -> Tensor:
        return (1 - unimix) * logits.softmax(-1) + unimix / logits.shape[-1]
