"""The world model: encoder, RSSM, and the heads that read its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout, StreamBatch
from wm_agent_dreamer.networks.mlp import MLP
from wm_agent_dreamer.networks.observations import ObservationDecoder, ObservationEncoder
from wm_agent_dreamer.networks.scalar_head import ScalarNetwork
from wm_agent_dreamer.rssm import RSSM, Posterior, RSSMState


@dataclass(frozen=True)
class WorldModelLoss:
    """What a batch says of the world model."""

    total: Tensor
    """To descend on."""
    metrics: Mapping[str, Tensor]
    """Its parts, scalars without graph: means over the batch, in nats, before their scales."""
    posterior: Posterior
    """The states of the batch, with graph."""


class WorldModel(nn.Module):
    """Learns from streams; predicts observations, rewards and whether an episode goes on."""

    def __init__(self, config: DreamerConfig, observation: ObservationLayout, action: ActionLayout) -> None:
        super().__init__()
        self.config = config
        features, heads = config.rssm.feature_size, config.heads
        self.encoder = ObservationEncoder(observation, config.encoder)
        self.rssm = RSSM(config.rssm, self.encoder.size, action.size)
        self.decoder = ObservationDecoder(observation, config.rssm, config.decoder)
        one_hots = config.rssm.one_hots
        self.reward = ScalarNetwork(
            features, layers=heads.reward_layers, kind=heads.reward, config=heads, one_hots=one_hots
        )
        self.continues = None
        if heads.continue_layers:
            self.continues = MLP(
                features,
                layers=heads.continue_layers,
                units=heads.units,
                activation=heads.activation,
                norm=heads.norm,
                outputs=1,
                one_hots=one_hots,
            )

    def observe(
        self, batch: StreamBatch, generator: torch.Generator | None, state: RSSMState | None = None
    ) -> Posterior:
        """The states (B, T, ...) of a batch, after `state` (B, ...) where the streams go on."""
        steps = (batch.is_first.shape[1], batch.is_first.shape[0])
        noise = self.rssm.draw_noise(steps, generator, batch.reward.device)
        return self.rssm.observe(self.encoder(batch.observation), batch.action, batch.is_first, noise, state)

    def loss(
        self, batch: StreamBatch, generator: torch.Generator | None, initial: RSSMState | None = None
    ) -> WorldModelLoss:
        """Reconstruction, reward, continue and KL, each the mean over batch and time.

        Rewards of records that open an episode are those of no step, and count as 0 like those replayed.
        """
        config = self.config.loss
        posterior = self.observe(batch, generator, initial)
        features = posterior.state.features
        losses = self.decoder.losses(self.decoder(features), batch.observation)
        losses["reward"] = config.reward_scale * self.reward.loss(self.reward(features), batch.reward)
        if self.continues is not None:
            goes_on = (~batch.is_terminal).float()
            target = goes_on * self.config.imagination.gamma if config.discounted_continue else goes_on
            logits = self.continues(features).squeeze(-1).float()
            likelihood = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
            losses["continue"] = config.continue_scale * likelihood
        prior = self.rssm.prior(posterior.state.deter)
        divergence, metrics = self._divergence(posterior.parameters, prior)
        means = {name: loss.mean() for name, loss in losses.items()}
        total = torch.stack(list(means.values())).sum() + divergence
        metrics |= {f"{name}_loss": mean.detach() for name, mean in means.items()} | {"loss": total.detach()}
        return WorldModelLoss(total, metrics, posterior)

    def _divergence(self, posterior: Tensor, prior: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The KL loss with its scales and free nats, and what to report."""
        config, latents = self.config.loss, self.rssm.latents
        if config.dynamics_scale == config.representation_scale:
            divergence = latents.kl(posterior, prior)
            total = config.dynamics_scale * self._free(divergence)
        else:
            divergence = latents.kl(posterior.detach(), prior)
            total = config.dynamics_scale * self._free(divergence)
            if config.representation_scale:
                total = total + config.representation_scale * self._free(latents.kl(posterior, prior.detach()))
        with torch.no_grad():
            metrics = {
                "kl": divergence.mean(),
                "prior_entropy": latents.entropy(prior).mean(),
                "posterior_entropy": latents.entropy(posterior).mean(),
            }
        return total, metrics

    def _free(self, divergence: Tensor) -> Tensor:
        """The mean of KLs (B, T), not pushed below the free nats: the mean is bounded, or each element."""
        config = self.config.loss
        if config.free_per == "batch_mean":
            return divergence.mean().clamp(min=config.free_nats)
        return divergence.clamp(min=config.free_nats).mean()

    def predicted_rewards(self, features: Tensor) -> Tensor:
        """(...), as the replay holds them."""
        return self.reward.predict(self.reward(features))

    def discounts(self, features: Tensor) -> Tensor:
        """gamma times the predicted chance (...) that the episode goes on after these states."""
        gamma = self.config.imagination.gamma
        if self.continues is None:
            return torch.full(features.shape[:-1], gamma, device=features.device)
        chance = torch.sigmoid(self.continues(features).squeeze(-1).float())
        return chance if self.config.loss.discounted_continue else gamma * chance
