"""Adding rows up is the plain product."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from wm_agent_dreamer.networks.one_hot_linear import LEAST_ROWS, OneHotLinear


@pytest.mark.parametrize("rest", [0, 7])
@pytest.mark.parametrize("biased", [True, False])
def test_values_and_weight_gradients_are_those_of_the_plain_product(
    generator: torch.Generator, rest: int, biased: bool
) -> None:
    one_hots = F.one_hot(torch.randint(5, (2, LEAST_ROWS, 4), generator=generator), 5).float().flatten(-2)
    x = torch.cat([one_hots, torch.randn(2, LEAST_ROWS, rest, generator=generator)], -1)
    weight = torch.randn(3, 20 + rest, generator=generator).requires_grad_()
    bias = torch.randn(3, generator=generator) if biased else None
    found, expected = OneHotLinear(4, 5)(x, weight, bias), F.linear(x, weight, bias)
    torch.testing.assert_close(found, expected)
    towards = torch.randn(expected.shape, generator=generator)
    gradients = [torch.autograd.grad((y * towards).sum(), weight)[0] for y in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_the_straight_through_gradient_is_kept(generator: torch.Generator) -> None:
    x = F.one_hot(torch.randint(5, (LEAST_ROWS, 4), generator=generator), 5).float().flatten(-2).requires_grad_()
    weight = torch.randn(3, 20, generator=generator)
    OneHotLinear(4, 5)(x, weight, None).sum().backward()
    torch.testing.assert_close(x.grad, weight.sum(0).expand(LEAST_ROWS, -1))
