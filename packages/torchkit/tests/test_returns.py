from __future__ import annotations

import math
import zlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_core.errors import UsageError
from wm_torchkit.returns import lambda_returns

# fmt: off
IRIS_RETURNS = [
    [4.120440483093262, 4.60135555267334, 2.8401682376861572, 0.7352470755577087, 0.26683998107910156,
     -0.7071212530136108],
    [-0.4539344310760498, 0.8246116638183594, 0.8947675824165344, 1.0112998485565186, 1.1288444995880127,
     1.5679196119308472],
]
DIAMOND_RETURNS = [
    [-0.1931542158126831, -0.26779305934906006, -1.0, -1.0, -0.07183670997619629, 1.0, 0.9096922874450684,
     -0.15288066864013672, 1.0, 2.668933868408203, 1.869036078453064, 0.9270107746124268,
     0.024114370346069336, -0.9510897994041443, -1.0],
    [0.5081546902656555, 1.5520801544189453, 0.6709437370300293, -0.31122398376464844, 0.7506029605865479,
     -0.28311091661453247, 0.8074355721473694, -0.03604698181152344, 0.9718488454818726, 1.0,
     1.0539883375167847, -0.014021515846252441, 1.0585768222808838, 0.04236912727355957, 1.1547675132751465],
]
# fmt: on


def uniform(name: str, *shape: int) -> Tensor:
    """Numbers in [-1, 1) by formula, as the published implementations were run on."""
    i = torch.arange(1, math.prod(shape) + 1, dtype=torch.float64)
    x = torch.sin(12.9898 * i + (zlib.crc32(name.encode()) % 10007)) * 43758.5453
    return (2 * (x - torch.floor(x)) - 1).reshape(shape)


def plain(rewards: list, next_values: list, discounts: list, lam: float, truncated: list) -> list[float]:
    target, out = next_values[-1], []
    for r, v, c, cut in reversed(list(zip(rewards, next_values, discounts, truncated, strict=True))):
        weight = 0.0 if cut else lam
        target = r + c * ((1 - weight) * v + weight * target)
        out.append(target)
    return out[::-1]


def test_the_published_iris_returns_come_out() -> None:
    rewards, values = (3 * uniform(f"iris.lr_{kind}", 2, 6).float() for kind in ("rew", "val"))
    ends = torch.zeros(2, 6, dtype=torch.bool)
    ends[0, 2] = True
    discounts = 0.995 * (~ends).float()
    returns = lambda_returns(rewards[:, :-1], values[:, 1:], discounts[:, :-1], 0.95)
    torch.testing.assert_close(torch.cat([returns, values[:, -1:]], 1), torch.tensor(IRIS_RETURNS), atol=1e-5, rtol=0)


def test_the_published_diamond_returns_come_out() -> None:
    rewards = (torch.floor((uniform("diamond.lr_rew", 2, 15) + 1) / 2 * 7).clamp(0, 6) - 3).sign().float()
    ends, truncated = (uniform(f"diamond.lr_{kind}", 2, 15) < -0.8 for kind in ("end", "trunc"))
    values = 2 * uniform("diamond.lr_val", 2, 15).float()
    returns = lambda_returns(rewards, values, 0.985 * (~ends).float(), 0.95, truncated)
    torch.testing.assert_close(returns, torch.tensor(DIAMOND_RETURNS), atol=1e-5, rtol=0)


numbers = st.floats(-3, 3, width=32)


@settings(deadline=None, max_examples=100)
@given(
    steps=st.lists(st.tuples(numbers, numbers, st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=12),
    lam=st.floats(0, 1),
)
def test_returns_agree_with_a_plain_loop(steps: list, lam: float) -> None:
    rewards, values, discounts, truncated = (list(column) for column in zip(*steps, strict=True))
    tensors = [torch.tensor([column], dtype=torch.float64) for column in (rewards, values, discounts)]
    returns = lambda_returns(*tensors, lam, torch.tensor([truncated]))
    expected = torch.tensor([plain(rewards, values, discounts, lam, truncated)], dtype=torch.float64)
    torch.testing.assert_close(returns, expected)


def test_lambda_0_is_one_step_and_lambda_1_the_discounted_sum() -> None:
    rewards, values = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([10.0, 20.0, 30.0])
    discounts = torch.full((3,), 0.5)
    assert lambda_returns(rewards, values, discounts, 0.0).tolist() == [6.0, 12.0, 19.0]
    assert lambda_returns(rewards, values, discounts, 1.0).tolist() == [
        1 + 1 + 1 + 30 / 8,
        2 + 2 + 30 / 4,
        4 + 15,
    ]


def test_gradients_flow_through_rewards_and_values() -> None:
    rewards, values = torch.zeros(2, 4, requires_grad=True), torch.zeros(2, 4, requires_grad=True)
    lambda_returns(rewards, values, torch.full((2, 4), 0.9), 0.5)[:, 0].sum().backward()
    assert torch.allclose(rewards.grad[0], torch.tensor([0.45**t for t in range(4)]))
    assert (values.grad > 0).all()


@pytest.mark.parametrize("shape", [(2, 3), (), (2, 0)])
def test_shapes_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    other = torch.zeros(shape if shape != (2, 3) else (2, 4))
    with pytest.raises(UsageError, match="shapes"):
        lambda_returns(torch.zeros(shape), other, other, 0.95)
