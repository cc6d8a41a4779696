"""Draw from categorical distributions without waiting for the device."""

from __future__ import annotations

import torch
from torch import Tensor


def sample(logits: Tensor, generator: torch.Generator | None, temperature: float = 1.0) -> Tensor:
    """One index a row, int64 (...), from logits (..., n), drawn with `generator` (on the device of `logits`).

    The largest of probability over exponential noise is distributed as the probabilities are. Unlike
    `torch.multinomial`, it asks the device for no answer, so imagination is not held up.
    """
    probabilities = torch.softmax(logits.detach().float() / temperature, dim=-1)
    noise = torch.empty_like(probabilities).exponential_(generator=generator)
    return probabilities.div_(noise).argmax(dim=-1)
