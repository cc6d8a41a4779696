"""The stochastic state z: independent categorical variables, or a diagonal Gaussian.

Its distribution is a tensor of parameters (..., `parameter_size`); samples are flat (..., Z).
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_dreamer.config import RSSMConfig
from wm_agent_dreamer.distributions import diagonal_gaussian, one_hot_categorical


class Latents(Protocol):
    """A family of distributions over z."""

    parameter_size: int
    """Length of the parameters."""

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Noise for `sample`, of leading `shape`."""
        ...

    def sample(self, parameters: Tensor, noise: Tensor) -> Tensor:
        """z, with the gradient of the parameters."""
        ...

    def mode(self, parameters: Tensor) -> Tensor:
        """The most probable z, with the gradient of the parameters."""
        ...

    def kl(self, posterior: Tensor, prior: Tensor) -> Tensor:
        """KL(posterior || prior) (...), summed over z, in nats."""
        ...

    def entropy(self, parameters: Tensor) -> Tensor:
        """(...), summed over z, in nats."""
        ...


def make_latents(config: RSSMConfig) -> Latents:
    """Categorical, or with 0 classes Gaussian."""
    return CategoricalLatents(config) if config.classes else GaussianLatents(config)


class CategoricalLatents:
    """`stoch` one-hots of `classes`, parametrised by logits; samples carry the straight-through gradient (V2, V3)."""

    def __init__(self, config: RSSMConfig) -> None:
        self.shape = (config.stoch, config.classes)
        self.parameter_size = config.stoch * config.classes
        self.unimix = config.unimix

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Uniform in [0, 1), (*shape, stoch)."""
        return torch.empty(*shape, self.shape[0], device=device).uniform_(generator=generator)

    def sample(self, parameters: Tensor, noise: Tensor) -> Tensor:
        """One-hots, flattened."""
        probs = one_hot_categorical.probabilities(self._logits(parameters), self.unimix)
        return one_hot_categorical.straight_through(one_hot_categorical.one_hot_sample(probs, noise), probs).flatten(-2)

    def mode(self, parameters: Tensor) -> Tensor:
        """One-hots, flattened."""
        probs = one_hot_categorical.probabilities(self._logits(parameters), self.unimix)
        return one_hot_categorical.straight_through(one_hot_categorical.one_hot_mode(probs), probs).flatten(-2)

    def kl(self, posterior: Tensor, prior: Tensor) -> Tensor:
        """Summed over the variables."""
        return one_hot_categorical.kl(self._log_probs(posterior), self._log_probs(prior)).sum(-1)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Summed over the variables."""
        return one_hot_categorical.entropy(self._log_probs(parameters)).sum(-1)

    def _logits(self, parameters: Tensor) -> Tensor:
        return parameters.float().view(*parameters.shape[:-1], *self.shape)

    def _log_probs(self, parameters: Tensor) -> Tensor:
        return one_hot_categorical.log_probabilities(self._logits(parameters), self.unimix)


class GaussianLatents:
    """`stoch` normal variables, parametrised by means and raw standard deviations (V1)."""

    def __init__(self, config: RSSMConfig) -> None:
        self.size = config.stoch
        self.parameter_size = 2 * config.stoch
        self.min_std = config.min_std
        self.sigmoid = config.std == "sigmoid2"

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Normal, (*shape, stoch)."""
        return torch.empty(*shape, self.size, device=device).normal_(generator=generator)

    def sample(self, parameters: Tensor, noise: Tensor) -> Tensor:
        """mean + std * noise."""
        mean, std = self.mean_and_std(parameters)
        return torch.addcmul(mean, std, noise)

    def mode(self, parameters: Tensor) -> Tensor:
        """The mean."""
        return self.mean_and_std(parameters)[0]

    def kl(self, posterior: Tensor, prior: Tensor) -> Tensor:
        """In closed form."""
        return diagonal_gaussian.kl(*self.mean_and_std(posterior), *self.mean_and_std(prior))

    def entropy(self, parameters: Tensor) -> Tensor:
        """In closed form."""
        return diagonal_gaussian.entropy(self.mean_and_std(parameters)[1])

    def mean_and_std(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """(..., stoch) each; the deviation is softplus(s) + min_std, or 2 sigmoid(s / 2) + min_std."""
        mean, raw = parameters.float().chunk(2, -1)
        return mean, (2 * torch.sigmoid(raw / 2) if self.sigmoid else F.softplus(raw)) + self.min_std
