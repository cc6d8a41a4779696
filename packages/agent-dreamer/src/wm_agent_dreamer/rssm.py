"""The recurrent state-space model of Dreamer (Hafner et al. 2019, arXiv:1811.04551), in the variants of V1 to V3."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wm_agent_dreamer.config import RSSMConfig
from wm_agent_dreamer.latents import make_latents
from wm_agent_dreamer.networks.layers import ACTIVATIONS, ConcatLinear, make_norm, needs_bias
from wm_agent_dreamer.networks.mlp import MLP
from wm_agent_dreamer.networks.recurrence import make_recurrence


@dataclass(frozen=True)
class RSSMState:
    """h (..., D) and z (..., Z), with the same leading axes."""

    deter: Tensor
    stoch: Tensor

    @property
    def features(self) -> Tensor:
        """(z, h), what every head reads."""
        return torch.cat([self.stoch, self.deter], -1)

    def detach(self) -> RSSMState:
        """Without its graph."""
        return RSSMState(self.deter.detach(), self.stoch.detach())

    def flatten(self) -> RSSMState:
        """With one leading axis."""
        return RSSMState(self.deter.flatten(0, -2), self.stoch.flatten(0, -2))

    def __getitem__(self, index: object) -> RSSMState:
        return RSSMState(self.deter[index], self.stoch[index])  # type: ignore[index]


@dataclass(frozen=True)
class Posterior:
    """States inferred from streams, and the parameters of q they were drawn from."""

    state: RSSMState
    """(B, T, ...)."""
    parameters: Tensor
    """(B, T, P)."""

    @property
    def final(self) -> RSSMState:
        """(B, ...), to carry over into the batch that continues these streams; without its graph."""
        return self.state[:, -1].detach()


class RSSM(nn.Module):
    """Infers states from embeddings and actions, and imagines them from actions alone."""

    def __init__(self, config: RSSMConfig, embedding: int, actions: int) -> None:
        super().__init__()
        self.config = config
        self.latents = make_latents(config)
        parameters = self.latents.parameter_size
        self.recurrence = make_recurrence(config, actions)
        self.prior_network = MLP(
            config.deter,
            layers=config.prior_layers,
            units=config.hidden,
            activation=config.activation,
            norm=config.norm,
            outputs=parameters,
        )
        self.posterior_input = ConcatLinear((config.deter, embedding), config.hidden, bias=needs_bias(config.norm))
        self.posterior_norm = make_norm(config.norm, config.hidden)
        self.activation = ACTIVATIONS[config.activation]
        self.posterior_network = MLP(
            config.hidden,
            layers=config.posterior_layers - 1,
            units=config.hidden,
            activation=config.activation,
            norm=config.norm,
            outputs=parameters,
        )
        self.initial_deter = nn.Parameter(torch.zeros(config.deter)) if config.initial == "learned" else None

    def initial_state(self, batch: int) -> RSSMState:
        """(B, ...), before the first observation of an episode."""
        if self.initial_deter is None:
            like = self.posterior_input.weights[0]
            zeros = like.new_zeros(batch, self.config.deter)
            return RSSMState(zeros, like.new_zeros(batch, self.config.stoch_size))
        deter = torch.tanh(self.initial_deter).expand(batch, -1)
        return RSSMState(deter, self.latents.mode(self.prior_network(deter)))

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """For as many states, from a generator on that device."""
        return self.latents.draw_noise(shape, generator, device)

    def prior(self, deter: Tensor) -> Tensor:
        """The parameters of p(z | h), (..., P)."""
        parameters: Tensor = self.prior_network(deter)
        return parameters

    def observe(
        self, embedding: Tensor, action: Tensor, is_first: Tensor, noise: Tensor, state: RSSMState | None = None
    ) -> Posterior:
        """States of streams: embeddings (B, T, E), the actions that led there (B, T, A), is_first (B, T) bool.

        `noise` is (T, B, ...) of `draw_noise`. `state` (B, ...) precedes the first record; without it, one begins.
        Where `is_first`, the state before is the initial one and the action is zero, whatever was given.
        The prior is no part of the loop: `prior(posterior.state.deter)` gives it for all steps at once.
        """
        batch, steps = is_first.shape
        initial = self.initial_state(batch)
        state = initial if state is None else state
        embedded = self.posterior_input.part(1, embedding, with_bias=True).unbind(1)
        acted = self.recurrence.project_actions(action * ~is_first.unsqueeze(-1)).unbind(1)
        begins = is_first.any(0).tolist()
        first = is_first.unsqueeze(-1).unbind(1)
        deters, stochs, parameters = [], [], []
        deter, stoch = state.deter, state.stoch
        for t in range(steps):
            if begins[t]:
                deter = torch.where(first[t], initial.deter, deter)
                stoch = torch.where(first[t], initial.stoch, stoch)
            deter = self.recurrence(deter, stoch, acted[t])
            hidden = self.posterior_input.part(0, deter) + embedded[t]
            parameter = self.posterior_network(self.activation(self.posterior_norm(hidden)))
            stoch = self.latents.sample(parameter, noise[t])
            deters.append(deter)
            stochs.append(stoch)
            parameters.append(parameter)
        state = RSSMState(torch.stack(deters, 1), torch.stack(stochs, 1))
        return Posterior(state, torch.stack(parameters, 1))

    def imagine_step(self, state: RSSMState, action: Tensor, noise: Tensor) -> RSSMState:
        """The state after (B, ...) and action (B, A), drawn from the prior with noise (B, ...)."""
        deter = self.recurrence(state.deter, state.stoch, self.recurrence.project_actions(action))
        return RSSMState(deter, self.latents.sample(self.prior(deter), noise))
