"""A pass of one or two positions, compiled: many small kernels become few. For GPUs; a CPU gains nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch._dynamo.exc import TorchDynamoException

from wm_agent_iris.world_model.cache import KVCache, LayerKeys

log = logging.getLogger(__name__)


class StaticLayerCache(NamedTuple):
    """As `LayerCache`, with shapes that do not grow: attention is over the whole capacity, the rest masked."""

    keys: Tensor
    values: Tensor
    positions: Tensor
    """int64 (S,), where the new keys and values go."""

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store S more keys and values, (B, heads, S, D/heads); all there is room for."""
        self.keys.index_copy_(2, self.positions, keys)
        self.values.index_copy_(2, self.positions, values)
        return self.keys, self.values


class CompiledPass:
    """`through` (embeddings, layers, mask to outputs), compiled once for each number of positions and batch."""

    def __init__(self, through: Callable[[Tensor, Sequence[LayerKeys], Tensor | None], Tensor]) -> None:
        self._through = through
        self._compiled: Callable[..., Tensor] = torch.compile(self._static, dynamic=False)
        self.works = True
        """Until compilation fails, which is said once; the caller then goes on without."""

    def __call__(self, cache: KVCache, x: Tensor) -> Tensor | None:
        """The outputs of S more positions (B, S, D), stored in the cache; None where it cannot be compiled."""
        positions = torch.arange(cache.length, cache.length + x.shape[1], device=x.device)
        try:
            return self._compiled(x, cache.keys, cache.values, positions)
        except TorchDynamoException as error:
            self.works = False
            log.warning("imagination goes on uncompiled, torch.compile failed: %s", str(error).split("\n")[0])
            return None

    def _static(self, x: Tensor, keys: list[Tensor], values: list[Tensor], positions: Tensor) -> Tensor:
        mask = torch.arange(keys[0].shape[2], device=x.device) <= positions.unsqueeze(1)
        layers = [StaticLayerCache(k, v, positions) for k, v in zip(keys, values, strict=True)]
        return self._through(x, layers, mask)
