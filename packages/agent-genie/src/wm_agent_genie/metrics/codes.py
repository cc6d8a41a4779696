"""How codes are used, and what they say of true actions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

COLLAPSED_PERPLEXITY = 1.5
"""Latent actions used less evenly than this are as good as one."""


def perplexity(codes: Tensor, size: int) -> Tensor:
    """exp of the entropy of how often each of `size` codes is used: 1 (one alone) to `size` (all alike)."""
    counts = torch.bincount(codes.flatten(), minlength=size).float()
    share = counts / counts.sum()
    used: Tensor = torch.special.entr(share).sum().exp()
    return used


def mutual_information(codes: Tensor, actions: Tensor) -> float:
    """I(code; action) in bits, of two int64 tensors of one shape, as counted: 0 (they say nothing of each other)
    to the smaller entropy of the two. Counting overstates it by about (|A| - 1)(|U| - 1) / (2 n ln 2) bits on n pairs.
    """
    if codes.shape != actions.shape or codes.numel() == 0:
        raise ValueError(f"codes {tuple(codes.shape)} and actions {tuple(actions.shape)} must be as many, at least one")
    x, y = codes.flatten(), actions.flatten()
    rows, columns = int(x.max()) + 1, int(y.max()) + 1
    joint = torch.bincount(x * columns + y, minlength=rows * columns).double().reshape(rows, columns)
    joint = joint / joint.sum()
    entropies = [torch.special.entr(p).sum() for p in (joint.sum(1), joint.sum(0), joint.flatten())]
    return max(0.0, float(entropies[0] + entropies[1] - entropies[2]) / math.log(2))


def entropy(actions: Tensor) -> float:
    """In bits, as counted: what the mutual information with them cannot exceed."""
    return mutual_information(actions, actions)


def collapse_warning(used: float, size: int) -> str | None:
    """What to say of latent actions of that perplexity; None when they are used."""
    if used >= COLLAPSED_PERPLEXITY:
        return None
    return (
        f"latent actions have collapsed: perplexity {used:.2f} of at most {size}, so they control next to nothing; "
        "train the latent action model longer, on video in which actions matter, or with codebook 'ema'"
    )
