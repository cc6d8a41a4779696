"""What a dream is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


class Start(NamedTuple):
    """Where B dreams begin: L real frames and the actions between them."""

    obs: Tensor
    """float (B, L, 3, S, S) in [-1, 1], the oldest first."""
    actions: Tensor
    """int64 (B, L), each taken on seeing the frame of its place. The last is not read: the dream chooses it."""


@dataclass(frozen=True)
class Dream:
    """H imagined steps of B dreams. `logits`, `values` and `value_bootstrap` carry gradients where learnt from."""

    obs: Tensor
    """(B, H, 3, S, S) in [-1, 1], what the policy saw before each action."""
    actions: Tensor
    """int64 (B, H)"""
    rewards: Tensor
    """float (B, H): -1, 0 or 1."""
    ends: Tensor
    """bool (B, H): the step ended the imagined episode."""
    truncs: Tensor
    """bool (B, H): the dream was cut after the step, being long enough, and began anew elsewhere."""
    logits: Tensor
    """(B, H, A) of the actions."""
    values: Tensor
    """(B, H), of `obs`."""
    value_bootstrap: Tensor
    """(B, H), of the frame each step led to, before any new beginning; without gradient."""
    alive: Tensor
    """bool (B, H): the step belongs to a dream that had not ended before."""
    next_obs: Tensor
    """(B, 3, S, S), what the policy would see next."""
