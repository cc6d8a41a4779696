"""Keys and values of past frames, for temporal attention.

A frame attends in space to itself and in time to the past, so nothing after it changes its keys and values: what is
computed with them equals a pass over all frames, however often the newest frame is drawn anew.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class LayerCache(NamedTuple):
    """One block's share of a pass: where the new keys and values go, and how many frames are there already."""

    keys: Tensor
    """(B * N, heads, T, head_dim)"""
    values: Tensor
    start: int

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store those of S more frames, (B * N, heads, S, head_dim); all so far, (..., start + S, head_dim)."""
        end = self.start + keys.shape[2]
        self.keys[:, :, self.start : end] = keys
        self.values[:, :, self.start : end] = values
        return self.keys[:, :, :end], self.values[:, :, :end]


class TemporalCache:
    """Of all blocks of one STTransformer, allocated once for T frames of B clips."""

    def __init__(self, layers: int, batch: int, tokens: int, heads: int, frames: int, head_dim: int, like: Tensor):
        shape = (batch * tokens, heads, frames, head_dim)
        self._keys = [like.new_zeros(shape) for _ in range(layers)]
        self._values = [like.new_zeros(shape) for _ in range(layers)]
        self.batch = batch
        self.capacity = frames
        self.length = 0
        """Frames remembered. What lies behind them is a draft, written over by the next pass."""

    def layers(self) -> list[LayerCache]:
        """The share of each block in the next pass."""
        return [LayerCache(k, v, self.length) for k, v in zip(self._keys, self._values, strict=True)]

    def keep(self, frames: int) -> None:
        """Forget all but the first `frames` frames."""
        if not 0 <= frames <= self.length:
            raise ValueError(f"{self.length} frames are remembered; {frames} cannot be kept")
        self.length = frames
