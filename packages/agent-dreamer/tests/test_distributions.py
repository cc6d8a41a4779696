"""Distributions against torch.distributions and against numerical integration."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Independent, Normal, OneHotCategorical, kl_divergence

from wm_agent_dreamer.config import ActorConfig, RSSMConfig
from wm_agent_dreamer.distributions import diagonal_gaussian, one_hot_categorical
from wm_agent_dreamer.distributions.action_distributions import (
    BoundedNormal,
    OneHotActions,
    TanhNormal,
    TruncatedNormal,
    action_distribution,
    noise_for,
    output_size,
)
from wm_agent_dreamer.latents import make_latents
from wm_agent_dreamer.layouts import ActionLayout

GRID = torch.linspace(-1, 1, 200_001, dtype=torch.float64)
DENSE_AT_ENDS = torch.tanh(torch.linspace(-7, 7, 200_001, dtype=torch.float64))
GRIDS = {TanhNormal: DENSE_AT_ENDS, TruncatedNormal: GRID}


def mixed(logits: Tensor, unimix: float) -> Tensor:
    return (1 - unimix) * logits.softmax(-1) + unimix / logits.shape[-1]


@pytest.mark.parametrize("unimix", [0.0, 0.01])
def test_kl_of_categorical_latents_is_that_of_torch(generator: torch.Generator, unimix: float) -> None:
    latents = make_latents(RSSMConfig(stoch=5, classes=7, unimix=unimix))
    p, q = 3 * torch.randn(2, 4, 35, generator=generator)
    expected = kl_divergence(
        *(Independent(OneHotCategorical(mixed(x.view(4, 5, 7), unimix)), 1) for x in (p, q))  # type: ignore[no-untyped-call]
    )
    torch.testing.assert_close(latents.kl(p, q), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("std", ["softplus", "sigmoid2"])
def test_kl_and_entropy_of_gaussian_latents_are_those_of_torch(generator: torch.Generator, std: str) -> None:
    latents = make_latents(RSSMConfig.model_validate({"stoch": 6, "classes": 0, "std": std}))
    p, q = torch.randn(2, 4, 12, generator=generator)

    def reference(parameters: Tensor) -> Independent:
        mean, raw = parameters.chunk(2, -1)
        spread = torch.nn.functional.softplus(raw) if std == "softplus" else 2 * torch.sigmoid(raw / 2)
        return Independent(Normal(mean, spread + 0.1), 1)  # type: ignore[no-untyped-call]

    torch.testing.assert_close(latents.kl(p, q), kl_divergence(reference(p), reference(q)), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(latents.entropy(p), reference(p).entropy(), rtol=1e-5, atol=1e-5)


def test_kl_stays_finite_where_a_class_is_impossible() -> None:
    latents = make_latents(RSSMConfig(stoch=1, classes=2, unimix=0.0))
    p, q = torch.tensor([[200.0, -200.0]]), torch.tensor([[-200.0, 200.0]])
    assert latents.kl(p, q).item() == pytest.approx(400.0)


@pytest.mark.parametrize("noise", [0.0, 0.5, 1 - 2**-24])
def test_impossible_classes_are_never_drawn(noise: float) -> None:
    probs = torch.tensor([0.0, 0.3, 0.0, 0.7, 0.0])
    drawn = one_hot_categorical.one_hot_sample(probs, torch.tensor(noise))
    assert probs[drawn.argmax()] > 0


def test_one_hots_are_drawn_as_often_as_their_probability_says(generator: torch.Generator) -> None:
    probs = torch.tensor([0.1, 0.2, 0.7])
    noise = torch.rand(40_000, generator=generator)
    drawn = one_hot_categorical.one_hot_sample(probs.expand(40_000, 3), noise)
    assert torch.equal(drawn.sum(-1), torch.ones(40_000))
    torch.testing.assert_close(drawn.mean(0), probs, rtol=0, atol=0.01)


def test_categorical_samples_carry_the_gradient_of_the_probabilities(generator: torch.Generator) -> None:
    latents = make_latents(RSSMConfig(stoch=2, classes=3, unimix=0.0))
    logits = torch.randn(1, 6, generator=generator).requires_grad_()
    weight = torch.randn(1, 6, generator=generator)
    sample = latents.sample(logits, latents.draw_noise((1,), generator, torch.device("cpu")))
    (gradient,) = torch.autograd.grad((sample * weight).sum(), logits)
    (expected,) = torch.autograd.grad((logits.view(1, 2, 3).softmax(-1).flatten(1) * weight).sum(), logits)
    assert set(sample.detach().round(decimals=5).flatten().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(gradient, expected)


def test_discrete_policies_have_the_log_probabilities_and_entropy_of_torch(generator: torch.Generator) -> None:
    logits = torch.randn(4, 5, generator=generator)
    policy, reference = OneHotActions(logits, 0.01), Categorical(probs=mixed(logits, 0.01))  # type: ignore[no-untyped-call]
    action = torch.tensor([0, 1, 4, 2])
    one_hots = torch.nn.functional.one_hot(action, 5).float()
    torch.testing.assert_close(policy.log_prob(one_hots), reference.log_prob(action))
    torch.testing.assert_close(policy.entropy(one_hots), reference.entropy())
    assert torch.equal(policy.mode.argmax(-1), logits.argmax(-1))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.3), (0.9, 0.4), (-0.5, 2.1)])
@pytest.mark.parametrize("kind", [TanhNormal, TruncatedNormal])
def test_densities_on_the_interval_integrate_to_one(
    kind: type[TanhNormal | TruncatedNormal], mean: float, std: float
) -> None:
    policy = kind(torch.tensor([[mean]], dtype=torch.float64), torch.tensor([[std]], dtype=torch.float64))
    density = policy.log_prob(GRIDS[kind].unsqueeze(-1)).exp()
    assert torch.trapezoid(density, GRIDS[kind]).item() == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.3), (0.9, 0.4), (-0.5, 2.1)])
@pytest.mark.parametrize("kind", [TanhNormal, TruncatedNormal])
def test_samples_have_the_mean_that_the_density_says(
    generator: torch.Generator, kind: type[TanhNormal | TruncatedNormal], mean: float, std: float
) -> None:
    policy = kind(torch.tensor([[mean]], dtype=torch.float64), torch.tensor([[std]], dtype=torch.float64))
    density = policy.log_prob(GRIDS[kind].unsqueeze(-1)).exp()
    expected = torch.trapezoid(density * GRIDS[kind], GRIDS[kind]).item()
    samples = policy.sample(kind.draw_noise((40_000, 1), generator, torch.device("cpu")).double())
    assert samples.abs().max() <= 1
    assert samples.mean().item() == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.3), (0.9, 0.4), (-0.5, 2.1)])
def test_truncated_normal_entropy_is_the_integral(mean: float, std: float) -> None:
    policy = TruncatedNormal(torch.tensor([[mean]], dtype=torch.float64), torch.tensor([[std]], dtype=torch.float64))
    log_density = policy.log_prob(GRID.unsqueeze(-1))
    expected = torch.trapezoid(-log_density * log_density.exp(), GRID).item()
    assert policy.entropy(torch.zeros(1, 1)).item() == pytest.approx(expected, abs=1e-6)


def test_tanh_normal_entropy_is_the_integral_on_average(generator: torch.Generator) -> None:
    policy = TanhNormal(torch.tensor([[0.2]]), torch.tensor([[0.5]]))
    log_density = policy.log_prob(DENSE_AT_ENDS.unsqueeze(-1))
    expected = torch.trapezoid(-log_density * log_density.exp(), DENSE_AT_ENDS).item()
    samples = policy.sample(torch.randn(40_000, 1, generator=generator))
    assert policy.entropy(samples).mean().item() == pytest.approx(expected, abs=0.02)


def test_bounded_normal_is_a_normal_of_bounded_parameters(generator: torch.Generator) -> None:
    layout = ActionLayout(kind="continuous", size=2)
    outputs = 100 * torch.randn(50, 4, generator=generator)
    policy = action_distribution(outputs, layout, ActorConfig(continuous="bounded_normal", min_std=0.1, init_std=1.0))
    assert isinstance(policy, BoundedNormal)
    assert policy.mean.abs().max() <= 1
    assert policy.std.min() >= 0.1
    assert policy.std.max() <= 1
    reference = Independent(Normal(policy.mean, policy.std), 1)  # type: ignore[no-untyped-call]
    action = torch.rand(50, 2, generator=generator)
    torch.testing.assert_close(policy.log_prob(action), reference.log_prob(action))
    torch.testing.assert_close(policy.entropy(action), reference.entropy())


def test_v1_and_v2_policies_start_with_their_published_deviation() -> None:
    layout, zeros = ActionLayout(kind="continuous", size=1), torch.zeros(1, 2)
    v1 = action_distribution(zeros, layout, ActorConfig(continuous="tanh_normal", init_std=5.0, min_std=1e-4))
    v2 = action_distribution(zeros, layout, ActorConfig(continuous="truncated_normal", init_std=1.0, min_std=0.1))
    assert isinstance(v1, TanhNormal)
    assert isinstance(v2, TruncatedNormal)
    assert v1.std.item() == pytest.approx(5.0001)
    assert v2.std.item() == pytest.approx(1.1)


@pytest.mark.parametrize("kind", ["tanh_normal", "truncated_normal", "bounded_normal"])
def test_continuous_samples_carry_a_gradient_to_mean_and_deviation(generator: torch.Generator, kind: str) -> None:
    layout, config = ActionLayout(kind="continuous", size=2), ActorConfig.model_validate({"continuous": kind})
    outputs = torch.randn(3, output_size(layout), generator=generator).requires_grad_()
    noise = noise_for(layout, config, (3,), generator, torch.device("cpu"))
    (gradient,) = torch.autograd.grad(action_distribution(outputs, layout, config).sample(noise).sum(), outputs)
    assert bool((gradient != 0).all())


def test_standard_cdf_at_known_points() -> None:
    x = torch.tensor([0.0, 1.0], dtype=torch.float64)
    expected = torch.tensor([0.5, 0.5 * (1 + math.erf(1 / math.sqrt(2)))], dtype=torch.float64)
    torch.testing.assert_close(diagonal_gaussian.standard_cdf(x), expected)
