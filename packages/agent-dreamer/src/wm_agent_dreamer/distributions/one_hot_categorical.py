"""Categorical variables as one-hot vectors, with the uniform mixture of DreamerV3 and straight-through samples."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def probabilities(logits: Tensor, unimix: float) -> Tensor:
    """(1 - unimix) softmax(logits) + unimix / C over the last axis, of C classes. DreamerV3, "Robust predictions"."""
    probs = F.softmax(logits, -1)
    return torch.add((1 - unimix) * probs, unimix / logits.shape[-1]) if unimix else probs


def log_probabilities(logits: Tensor, unimix: float) -> Tensor:
    """Logarithm of `probabilities`; finite for all finite logits."""
    log_probs = F.log_softmax(logits, -1)
    if not unimix:
        return log_probs
    return torch.log((1 - unimix) * log_probs.exp() + unimix / logits.shape[-1])


def one_hot_sample(probs: Tensor, noise: Tensor) -> Tensor:
    """One-hots drawn with probabilities (..., C), of their shape; `noise` (...) is uniform in [0, 1).

    The class is the one whose share of the cumulated probabilities the noise falls into: one number for each variable.
    """
    cumulated = probs.detach().cumsum(-1)
    threshold = noise.unsqueeze(-1) * cumulated[..., -1:]
    return one_hot((cumulated <= threshold).sum(-1).clamp(max=probs.shape[-1] - 1), probs)


def one_hot_mode(probs: Tensor) -> Tensor:
    """One-hots at the most probable classes."""
    return one_hot(probs.argmax(-1), probs)


def one_hot(index: Tensor, like: Tensor) -> Tensor:
    """One-hots (..., C) at `index` (...), of the dtype and C of `like`."""
    zeros = torch.zeros(like.shape, dtype=like.dtype, device=like.device)
    return zeros.scatter_(-1, index.unsqueeze(-1), 1.0)


def straight_through(sample: Tensor, probs: Tensor) -> Tensor:
    """`sample`, with the gradient of `probs`. DreamerV2, Algorithm 1."""
    return sample + (probs - probs.detach())


def kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """KL(p || q) over the last axis, from log-probabilities; in nats."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Over the last axis, in nats."""
    return -(log_probs.exp() * log_probs).sum(-1)
