"""What a policy is: a distribution over actions, by the outputs of the actor network.

`draw_noise` says what noise `sample` turns into actions; samples carry the gradient of the outputs. Log-probabilities
and entropies are sums over the A dimensions, shape (...).
"""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_dreamer.config import ActorConfig
from wm_agent_dreamer.distributions import diagonal_gaussian, one_hot_categorical
from wm_agent_dreamer.layouts import ActionLayout


class ActionDistribution(Protocol):
    """Over actions (..., A)."""

    @property
    def mode(self) -> Tensor:
        """The action to take without exploring."""
        ...

    def sample(self, noise: Tensor) -> Tensor:
        """Actions, from noise of `draw_noise`."""
        ...

    def log_prob(self, action: Tensor) -> Tensor:
        """Of actions, which are constants."""
        ...

    def entropy(self, action: Tensor) -> Tensor:
        """In nats; where there is no closed form, -log_prob of the sampled `action`."""
        ...

    @staticmethod
    def draw_noise(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Noise for `sample`."""
        ...


def output_size(layout: ActionLayout) -> int:
    """Outputs of the actor network: logits, or means and standard deviations."""
    return layout.size if layout.kind == "discrete" else 2 * layout.size


def action_distribution(outputs: Tensor, layout: ActionLayout, config: ActorConfig) -> ActionDistribution:
    """The policy of these outputs (..., `output_size`)."""
    if layout.kind == "discrete":
        return OneHotActions(outputs.float(), config.unimix)
    mean, std = outputs.float().chunk(2, -1)
    if config.continuous == "tanh_normal":
        # V1: the standard deviation is init_std where the network says 0
        raw = math.log(math.expm1(config.init_std))
        return TanhNormal(5 * torch.tanh(mean / 5), F.softplus(std + raw) + config.min_std)
    if config.continuous == "truncated_normal":
        spread = 2 * config.init_std * torch.sigmoid(std / 2)
        return TruncatedNormal(torch.tanh(mean), spread + config.min_std)
    spread = (config.init_std - config.min_std) * torch.sigmoid(std + 2)
    return BoundedNormal(torch.tanh(mean), spread + config.min_std)


def noise_for(
    layout: ActionLayout,
    config: ActorConfig,
    shape: tuple[int, ...],
    generator: torch.Generator | None,
    device: torch.device,
) -> Tensor:
    """The noise that the policies of this configuration sample with, of leading `shape`."""
    if layout.kind == "discrete":
        return OneHotActions.draw_noise(shape, generator, device)
    kind = TruncatedNormal if config.continuous == "truncated_normal" else BoundedNormal
    return kind.draw_noise((*shape, layout.size), generator, device)


class OneHotActions:
    """One of A actions, as a one-hot; samples carry the straight-through gradient."""

    def __init__(self, logits: Tensor, unimix: float) -> None:
        self.log_probs = one_hot_categorical.log_probabilities(logits, unimix)

    @property
    def mode(self) -> Tensor:
        """The most probable action."""
        return one_hot_categorical.one_hot_mode(self.log_probs)

    def sample(self, noise: Tensor) -> Tensor:
        """One-hots, with the straight-through gradient; `noise` is uniform, one number for each."""
        probs = self.log_probs.exp()
        return one_hot_categorical.straight_through(one_hot_categorical.one_hot_sample(probs, noise), probs)

    def log_prob(self, action: Tensor) -> Tensor:
        """Of one-hots."""
        return (self.log_probs * action).sum(-1)

    def entropy(self, action: Tensor) -> Tensor:
        """In closed form."""
        return one_hot_categorical.entropy(self.log_probs)

    @staticmethod
    def draw_noise(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Uniform in [0, 1)."""
        return torch.empty(shape, device=device).uniform_(generator=generator)


class _Normal:
    """A normal distribution by mean and standard deviation, (..., A)."""

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        self.mean, self.std = mean, std

    @staticmethod
    def draw_noise(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Normal."""
        return torch.empty(shape, device=device).normal_(generator=generator)


class BoundedNormal(_Normal):
    """A normal distribution of bounded mean and deviation (V3). Samples outside [-1, 1] are cut by who applies them."""

    @property
    def mode(self) -> Tensor:
        """The mean."""
        return self.mean

    def sample(self, noise: Tensor) -> Tensor:
        """Of the normal distribution, uncut."""
        return self.mean + self.std * noise

    def log_prob(self, action: Tensor) -> Tensor:
        """Of uncut actions."""
        return diagonal_gaussian.log_density(action, self.mean, self.std).sum(-1)

    def entropy(self, action: Tensor) -> Tensor:
        """In closed form."""
        return diagonal_gaussian.entropy(self.std)


class TanhNormal(_Normal):
    """tanh of a normal variable (V1). Its mode is taken as tanh of the mean, the median of each dimension."""

    LIMIT: ClassVar[float] = 1 - 1e-6
    """Actions nearer to -1 or 1 count as this."""

    @property
    def mode(self) -> Tensor:
        """tanh of the mean."""
        return torch.tanh(self.mean)

    def sample(self, noise: Tensor) -> Tensor:
        """Within (-1, 1)."""
        return torch.tanh(self.mean + self.std * noise)

    def log_prob(self, action: Tensor) -> Tensor:
        """By the change of variables."""
        action = action.clamp(-self.LIMIT, self.LIMIT)
        slope = torch.log1p(-action.square())
        return (diagonal_gaussian.log_density(torch.atanh(action), self.mean, self.std) - slope).sum(-1)

    def entropy(self, action: Tensor) -> Tensor:
        """An estimate from the sampled `action`, with its gradient."""
        return -self.log_prob(action)


class TruncatedNormal(_Normal):
    """A normal distribution restricted to [-1, 1] (V2); the mean and deviation are those before the restriction."""

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__(mean, std)
        self.low, self.high = (-1 - mean) / std, (1 - mean) / std
        self.below = diagonal_gaussian.standard_cdf(self.low)
        self.mass = diagonal_gaussian.standard_cdf(self.high) - self.below

    @property
    def mode(self) -> Tensor:
        """The mean, within [-1, 1]."""
        return self.mean.clamp(-1, 1)

    def sample(self, noise: Tensor) -> Tensor:
        """By the inverse of the distribution function; `noise` is uniform."""
        quantile = (self.below + noise * self.mass).clamp(1e-6, 1 - 1e-6)
        normal: Tensor = torch.special.ndtri(quantile)
        return (self.mean + self.std * normal).clamp(-1, 1)

    def log_prob(self, action: Tensor) -> Tensor:
        """Of actions in [-1, 1]."""
        return (diagonal_gaussian.log_density(action, self.mean, self.std) - self.mass.log()).sum(-1)

    def entropy(self, action: Tensor) -> Tensor:
        """In closed form."""
        tails = self.low * diagonal_gaussian.standard_density(self.low)
        tails = tails - self.high * diagonal_gaussian.standard_density(self.high)
        of_normal = self.std.log() + 0.5 + diagonal_gaussian.HALF_LOG_2PI
        entropy: Tensor = of_normal + self.mass.log() + tails / (2 * self.mass)
        return entropy.sum(-1)

    @staticmethod
    def draw_noise(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Uniform in [0, 1)."""
        return torch.empty(shape, device=device).uniform_(generator=generator)
