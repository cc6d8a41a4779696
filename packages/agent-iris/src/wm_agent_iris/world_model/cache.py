"""What the transformer remembers of a sequence while it imagines."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class LayerKeys(Protocol):
    """What attention asks of a cache."""

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store S more keys and values, (B, heads, S, D/heads); those to attend to, (B, heads, past, D/heads)."""


class LayerCache(NamedTuple):
    """One layer's share of a pass: where the new keys and values go, and how many are there already."""

    keys: Tensor
    """(B, heads, capacity, D/heads)"""
    values: Tensor
    start: int

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store S more keys and values, (B, heads, S, D/heads); all so far, (B, heads, start + S, D/heads)."""
        end = self.start + keys.shape[2]
        self.keys[:, :, self.start : end] = keys
        self.values[:, :, self.start : end] = values
        return self.keys[:, :, :end], self.values[:, :, :end]


class KVCache:
    """Keys and values of all layers, allocated once, and the window of frames and actions they stand for.

    The last token of the newest frame waits in `tokens` until the action is known; the two then share one pass.
    `length` and `frames` are plain integers, so that no step asks the device.
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        head_dim: int,
        timesteps: int,
        tokens_per_frame: int,
        like: Tensor,
    ) -> None:
        shape = (batch, heads, timesteps * (tokens_per_frame + 1), head_dim)
        self.keys = [like.new_zeros(shape) for _ in range(layers)]
        self.values = [like.new_zeros(shape) for _ in range(layers)]
        self.tokens = torch.empty(batch, timesteps, tokens_per_frame, dtype=torch.long, device=like.device)
        self.actions = torch.empty(batch, timesteps, dtype=torch.long, device=like.device)
        self.length = 0
        """Positions whose keys and values are stored."""
        self.frames = 0
        """Frames in the window; the newest is still without its action."""

    def layers(self) -> list[LayerCache]:
        """The share of each layer in the next pass."""
        return [LayerCache(k, v, self.length) for k, v in zip(self.keys, self.values, strict=True)]

    def remember(self, tokens: Tensor, actions: Tensor) -> None:
        """Replace the window: T frames (B, T, K) and the T-1 actions (B, T-1) between them."""
        self.length = 0
        self.frames = tokens.shape[1]
        self.tokens[:, : self.frames] = tokens
        self.actions[:, : self.frames - 1] = actions

    def window(self, frames: int) -> tuple[Tensor, Tensor]:
        """Copies of the newest `frames` frames (B, T, K) and of the T-1 actions (B, T-1) between them."""
        first = self.frames - frames
        return self.tokens[:, first : self.frames].clone(), self.actions[:, first : self.frames - 1].clone()
