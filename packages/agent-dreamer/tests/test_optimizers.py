"""Optimizers against their formulas."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from wm_agent_dreamer.config import AdamConfig, LaPropConfig
from wm_agent_dreamer.optimizers import LaProp, make_adam


def by_formula(weight: torch.Tensor, gradients: list[torch.Tensor], config: LaPropConfig) -> torch.Tensor:
    v, m = torch.zeros_like(weight), torch.zeros_like(weight)
    for t, gradient in enumerate(gradients, start=1):
        limit = config.clip * max(float(weight.norm()), 1e-3)
        gradient = gradient * min(1.0, limit / float(gradient.norm()))
        v = config.beta2 * v + (1 - config.beta2) * gradient**2
        scaled = gradient / ((v / (1 - config.beta2**t)).sqrt() + config.epsilon)
        m = config.beta1 * m + (1 - config.beta1) * scaled
        weight = weight - config.learning_rate * min(1.0, t / config.warmup) * m / (1 - config.beta1**t)
    return weight


@pytest.mark.parametrize("size", [0.01, 100.0])
def test_laprop_with_adaptive_clipping_is_its_formula(generator: torch.Generator, size: float) -> None:
    config = LaPropConfig(learning_rate=0.1, warmup=3, epsilon=1e-8)
    start = torch.randn(4, 3, generator=generator)
    gradients = [size * torch.randn(4, 3, generator=generator) for _ in range(6)]
    weight, idle = torch.nn.Parameter(start.clone()), torch.nn.Parameter(torch.ones(2))
    optimizer = LaProp([weight, idle], config)
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
    torch.testing.assert_close(weight.detach(), by_formula(start, gradients, config), rtol=1e-5, atol=1e-6)
    assert idle.tolist() == [1.0, 1.0]


def test_laprop_goes_on_from_its_saved_state(generator: torch.Generator) -> None:
    config = LaPropConfig(learning_rate=0.1, warmup=3)
    gradients = [torch.randn(5, generator=generator) for _ in range(6)]
    weights = [torch.nn.Parameter(torch.ones(5)) for _ in range(2)]
    optimizers = [LaProp([weight], config) for weight in weights]
    for gradient in gradients[:3]:
        weights[0].grad = gradient.clone()
        optimizers[0].step()
    weights[1].data.copy_(weights[0].data)
    optimizers[1].load_state_dict(deepcopy(optimizers[0].state_dict()))
    for gradient in gradients[3:]:
        for weight, optimizer in zip(weights, optimizers, strict=True):
            weight.grad = gradient.clone()
            optimizer.step()
    assert torch.equal(weights[0], weights[1])


def test_weight_decay_multiplies_weights_whatever_the_learning_rate() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = make_adam([weight], AdamConfig(learning_rate=1e-4, weight_decay=1e-2))
    weight.grad = torch.zeros(1)
    optimizer.step()
    assert weight.item() == pytest.approx(2.0 * (1 - 1e-2), rel=1e-6)


def test_the_first_adam_step_is_the_learning_rate() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = make_adam([weight], AdamConfig(learning_rate=1e-2, epsilon=1e-12))
    weight.grad = torch.tensor([-30.0])
    optimizer.step()
    assert weight.item() == pytest.approx(2.01)
