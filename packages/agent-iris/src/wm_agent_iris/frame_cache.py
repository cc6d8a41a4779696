"""What a tokenizer makes of stored frames, computed once as long as it does not change.

In an epoch of the published schedule the world model and the policy read each stored frame many times, and between
the tokenizer's updates its tokens and reconstruction are always the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_iris.observations import to_channels_first
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer
from wm_torchkit.device import Precision, autocast

_CHUNK = 8
"""Frames are computed in whole multiples of it, so that what is beside a frame does not change its bits, and a
training that resumes with an empty cache gives the same numbers as one that goes on with a full one."""
_LEVELS = 2**16 - 1


class FrameCache:
    """Tokens, and reconstructions in 1/65535ths, of frames by their id in a replay of `capacity` places."""

    def __init__(
        self, tokenizer: IRISTokenizer, capacity: int, reconstructions: int, precision: Precision = "float32"
    ) -> None:
        size, tokens = tokenizer.config.image_size, tokenizer.config.tokens_per_frame
        self._tokenizer = tokenizer
        self._precision: Precision = precision
        self._tokens = _Table(capacity, (tokens,), np.int32)
        self._reconstructions = _Table(min(capacity, reconstructions), (3, size, size), np.uint16)

    def clear(self) -> None:
        """Forget everything: the tokenizer has changed."""
        self._tokens.clear()
        self._reconstructions.clear()

    def tokens(self, ids: NDArray[np.int64], frames: Tensor) -> Tensor:
        """int64 `(N, K)` on the CPU, of N stored frames, uint8 `(N, S, S, 3)`, whose ids are `ids`."""
        unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        rows, known = self._tokens.read(unique)
        missing = np.flatnonzero(~known)
        if len(missing):
            computed = self._encode(frames[torch.from_numpy(first[missing])])
            rows[missing] = computed
            self._tokens.write(unique[missing], computed)
        return torch.from_numpy(rows[inverse.reshape(-1)].astype(np.int64))

    def reconstructions(self, ids: NDArray[np.int64], frames: Tensor) -> Tensor:
        """float32 `(N, 3, S, S)` in [0, 1] on the CPU, of the same; rounded to 1/65535."""
        unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        rows, known = self._reconstructions.read(unique)
        missing = np.flatnonzero(~known)
        if len(missing):
            tokens = self.tokens(unique[missing], frames[torch.from_numpy(first[missing])])
            computed = self._decode(tokens)
            rows[missing] = computed
            self._reconstructions.write(unique[missing], computed)
        return torch.from_numpy(rows.astype(np.float32) / np.float32(_LEVELS))[torch.from_numpy(inverse.reshape(-1))]

    def _encode(self, frames: Tensor) -> NDArray[np.int32]:
        images = to_channels_first(_whole_chunks(frames), self._device)
        with autocast(self._device, self._precision):
            tokens = self._tokenizer.encode(images)[: len(frames)]
        return tokens.cpu().numpy().astype(np.int32)

    def _decode(self, tokens: Tensor) -> NDArray[np.uint16]:
        with autocast(self._device, self._precision):
            images = self._tokenizer.decode(_whole_chunks(tokens).to(self._device))[: len(tokens)]
        return (images * _LEVELS).round().cpu().numpy().astype(np.uint16)

    @property
    def _device(self) -> torch.device:
        return self._tokenizer.quantizer.codebook.device


class _Table:
    """Rows by id; of ids that are alike modulo `places`, one is kept."""

    def __init__(self, places: int, shape: tuple[int, ...], dtype: Any) -> None:
        self._rows = np.empty((places, *shape), dtype)
        self._ids = np.full(places, -1, np.int64)

    def clear(self) -> None:
        self._ids.fill(-1)

    def read(self, ids: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """A row for each id, and whether it is known; rows of others hold anything."""
        if len(self._ids) == 0:
            return np.empty((len(ids), *self._rows.shape[1:]), self._rows.dtype), np.zeros(len(ids), np.bool_)
        places = ids % len(self._ids)
        return self._rows[places], self._ids[places] == ids

    def write(self, ids: NDArray[np.int64], rows: NDArray[Any]) -> None:
        if len(self._ids):
            places, first = np.unique(ids % len(self._ids), return_index=True)
            self._rows[places] = rows[first]
            self._ids[places] = ids[first]


def _whole_chunks(rows: Tensor) -> Tensor:
    short = -len(rows) % _CHUNK
    return torch.cat([rows, rows[-1:].expand(short, *rows.shape[1:])]) if short else rows
