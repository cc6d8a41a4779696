"""What the features of a sequence of frames pass through: an LSTM, or a layer without memory."""

from __future__ import annotations

from torch import Tensor


def state_size(memory: str, hidden_dim: int) -> int:
    """Last dimension of a state (2, B, .): hidden and cell of an LSTM; 0 where there is no memory."""
    return hidden_dim if memory == "lstm" else 0


def blank_state(like: Tensor, batch: int, size: int) -> Tensor:
    """Zeros (2, batch, size), where `like` is."""
    return like.new_zeros(2, batch, size)
