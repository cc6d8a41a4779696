"""Symlog, and regression on bins."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_dreamer.distributions.symlog_two_hot import TwoHotBins, symexp, symlog

SPACES: list[Literal["symlog", "symexp"]] = ["symlog", "symexp"]


def test_symlog_at_known_points() -> None:
    x = torch.tensor([0.0, math.e - 1, -(math.e**2 - 1)])
    torch.testing.assert_close(symlog(x), torch.tensor([0.0, 1.0, -2.0]))


@given(st.floats(-1e6, 1e6))
@settings(deadline=None, max_examples=50)
def test_symexp_inverts_symlog(x: float) -> None:
    assert symexp(symlog(torch.tensor(x, dtype=torch.float64))).item() == pytest.approx(x, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("space", SPACES)
@given(x=st.floats(-5e4, 5e4))
@settings(deadline=None, max_examples=50)
def test_what_is_encoded_decodes_to_itself(space: Literal["symlog", "symexp"], x: float) -> None:
    bins = TwoHotBins(255, 20.0, space)
    logits = bins.encode(torch.tensor(x)).clamp(min=1e-30).log()
    assert bins.decode(logits).item() == pytest.approx(x, rel=1e-4, abs=1e-4)


@given(x=st.floats(-100, 100))
@settings(deadline=None, max_examples=50)
def test_at_most_two_neighbours_share_the_weight(x: float) -> None:
    weights = TwoHotBins(41, 4.0, "symlog").encode(torch.tensor(x))
    used = weights.nonzero().flatten().tolist()
    assert weights.sum().item() == pytest.approx(1.0)
    assert len(used) <= 2
    assert used[-1] - used[0] <= 1


@pytest.mark.parametrize("space", SPACES)
def test_a_uniform_prediction_is_exactly_zero(space: Literal["symlog", "symexp"]) -> None:
    assert TwoHotBins(255, 20.0, space).decode(torch.zeros(4, 255)).tolist() == [0.0] * 4


@pytest.mark.parametrize("space", SPACES)
def test_loss_is_the_cross_entropy_with_the_encoding(
    generator: torch.Generator, space: Literal["symlog", "symexp"]
) -> None:
    bins, x = TwoHotBins(41, 4.0, space), 30 * torch.randn(8, 3, generator=generator)
    logits = torch.randn(8, 3, 41, generator=generator)
    expected = -(bins.encode(x) * logits.log_softmax(-1)).sum(-1)
    torch.testing.assert_close(bins.loss(logits, x), expected)


def test_bins_are_even_in_symlog_space() -> None:
    torch.testing.assert_close(TwoHotBins(5, 2.0, "symlog").bins, torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]))
    expected = symexp(torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]))
    torch.testing.assert_close(TwoHotBins(5, 2.0, "symexp").bins, expected)
