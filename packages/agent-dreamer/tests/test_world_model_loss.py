"""What the world model learns from a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from dreamer_configs import CONTINUOUS, V1, V2, V3, VERSIONS, changed, make_agent, noise_batch
from torch.nn import functional as F

from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.layouts import ObservationLayout
from wm_agent_dreamer.world_model import WorldModel


def loss_of(model: WorldModel, seed: int = 0, **fields: torch.Tensor) -> tuple[torch.Tensor, dict[str, float]]:
    loss = model.loss(replace(noise_batch(), **fields), torch.Generator().manual_seed(seed))
    return loss.total, {name: float(value) for name, value in loss.metrics.items()}


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
@pytest.mark.parametrize("layout", [{"image": (3, 16, 16)}, {"vector": 4}, {"image": (1, 16, 20), "vector": 4}])
def test_every_parameter_of_the_world_model_learns(config: DreamerConfig, layout: dict[str, object]) -> None:
    config = changed(config, loss={"free_nats": 0.0})
    observation = ObservationLayout.model_validate(layout)
    model = make_agent(config, CONTINUOUS, observation).world_model
    loss = model.loss(noise_batch(CONTINUOUS, observation), torch.Generator().manual_seed(0))
    loss.total.backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.abs().sum() > 0)]
    assert still == []


def test_total_is_the_sum_of_scaled_parts() -> None:
    config = changed(V3, loss={"reward_scale": 2.0, "continue_scale": 5.0, "free_nats": 0.0})
    total, metrics = loss_of(make_agent(config).world_model)
    parts = metrics["image_loss"] + metrics["reward_loss"] + metrics["continue_loss"]
    assert total.item() == pytest.approx(parts + (1.0 + 0.1) * metrics["kl"], rel=1e-5)


def test_scales_multiply_reward_and_continue_losses() -> None:
    _, plain = loss_of(make_agent(V3).world_model)
    _, scaled = loss_of(make_agent(changed(V3, loss={"reward_scale": 2.0, "continue_scale": 5.0})).world_model)
    assert scaled["reward_loss"] == pytest.approx(2 * plain["reward_loss"], rel=1e-5)
    assert scaled["continue_loss"] == pytest.approx(5 * plain["continue_loss"], rel=1e-5)


def test_a_truncation_leaves_the_continue_target_at_one() -> None:
    """Record 2 opens an episode; whether the one before ended or was cut is in is_terminal alone."""
    config = changed(V3, loss={"discounted_continue": False})
    model = make_agent(config).world_model
    first, terminal = torch.zeros(3, 5, dtype=torch.bool), torch.zeros(3, 5, dtype=torch.bool)
    first[:, 2] = True
    batch = replace(noise_batch(), is_first=first, is_terminal=terminal)
    loss = model.loss(batch, torch.Generator().manual_seed(0))
    assert model.continues is not None
    logits = model.continues(loss.posterior.state.features).squeeze(-1).detach()
    assert float(loss.metrics["continue_loss"]) == pytest.approx(float(-F.logsigmoid(logits.detach()).mean()), rel=1e-5)
    terminal[:, 1] = True
    ended = float(model.loss(batch, torch.Generator().manual_seed(0)).metrics["continue_loss"])
    expected = F.binary_cross_entropy_with_logits(logits, (~terminal).float())
    assert ended == pytest.approx(float(expected), rel=1e-5)


def test_a_discounted_continue_target_is_gamma() -> None:
    model = make_agent(changed(V3, loss={"discounted_continue": True}, imagination={"gamma": 0.9})).world_model
    none = torch.zeros(3, 5, dtype=torch.bool)
    loss = model.loss(replace(noise_batch(), is_terminal=none), torch.Generator().manual_seed(0))
    assert model.continues is not None
    logits = model.continues(loss.posterior.state.features).squeeze(-1).detach()
    expected = F.binary_cross_entropy_with_logits(logits, torch.full((3, 5), 0.9))
    assert float(loss.metrics["continue_loss"]) == pytest.approx(float(expected), rel=1e-5)


def test_free_nats_bound_the_batch_mean_in_v1_and_each_element_in_v3() -> None:
    divergence = torch.tensor([[0.5, 5.0], [1.0, 2.0]])
    v1 = make_agent(changed(V1, loss={"free_nats": 3.0})).world_model
    v3 = make_agent(changed(V3, loss={"free_nats": 1.5})).world_model
    assert v1._free(divergence).item() == 3.0
    assert v1._free(4 * divergence).item() == pytest.approx(8.5)
    assert v3._free(divergence).item() == pytest.approx((1.5 + 5.0 + 1.5 + 2.0) / 4)


def test_below_the_free_nats_the_kl_has_no_gradient() -> None:
    model = make_agent(changed(V1, loss={"free_nats": 1e6})).world_model
    loss_of(model)[0].backward()
    assert model.rssm.prior_network.output is not None
    assert model.rssm.prior_network.output.weight.grad is not None
    assert bool((model.rssm.prior_network.output.weight.grad == 0).all())


def test_balancing_splits_the_gradient_between_prior_and_posterior() -> None:
    """V2, Algorithm 2: alpha of the gradient to the prior, 1 - alpha to the posterior."""
    model = make_agent(V2).world_model
    generator = torch.Generator().manual_seed(1)
    posterior, prior = (torch.randn(2, 3, 16, generator=generator).requires_grad_() for _ in range(2))
    (single,) = [model.rssm.latents.kl(posterior, prior).mean()]
    to_posterior, to_prior = torch.autograd.grad(single, [posterior, prior])
    total, _ = model._divergence(posterior, prior)
    balanced = torch.autograd.grad(total, [posterior, prior])
    torch.testing.assert_close(balanced[0], 0.2 * to_posterior)
    torch.testing.assert_close(balanced[1], 0.8 * to_prior)
    assert total.item() == pytest.approx(single.item())


def test_equal_scales_are_one_kl() -> None:
    model = make_agent(changed(V1, loss={"free_nats": 0.0})).world_model
    generator = torch.Generator().manual_seed(1)
    posterior, prior = (torch.randn(2, 3, 12, generator=generator).requires_grad_() for _ in range(2))
    single = model.rssm.latents.kl(posterior, prior).mean()
    total, _ = model._divergence(posterior, prior)
    torch.testing.assert_close(total, single)
    expected = torch.autograd.grad(single, [posterior, prior])
    torch.testing.assert_close(torch.autograd.grad(total, [posterior, prior]), expected)


def test_without_a_continue_head_every_discount_is_gamma() -> None:
    model = make_agent(changed(V2, heads={"continue_layers": 0})).world_model
    _, metrics = loss_of(model)
    assert "continue_loss" not in metrics
    assert model.discounts(torch.zeros(2, 3, model.config.rssm.feature_size)).unique().tolist() == [pytest.approx(0.9)]
