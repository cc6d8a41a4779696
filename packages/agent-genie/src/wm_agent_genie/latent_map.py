"""From latent actions to an environment's own: the dictionary D of a few labelled transitions. Section 3.3."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wm_core.errors import UsageError


class LatentMap(nn.Module):
    """Counts of labelled pairs; D[a] is the list of real actions seen with latent action a."""

    counts: Tensor
    """int64 (latent actions, real actions)"""

    def __init__(self, latent_actions: int, real_actions: int) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(latent_actions, real_actions, dtype=torch.long))

    @property
    def labels(self) -> int:
        """Pairs it was made of; 0: it is empty."""
        return int(self.counts.sum())

    def fill(self, codes: Tensor, actions: Tensor) -> None:
        """Make it of pairs, two int64 tensors of one shape (n,), in place of what it held."""
        latent, real = self.counts.shape
        if codes.shape != actions.shape or not len(codes):
            raise UsageError(f"{tuple(codes.shape)} latent actions and {tuple(actions.shape)} real ones make no pairs")
        if int(actions.min()) < 0 or int(actions.max()) >= real:
            raise UsageError(f"labels hold the action {int(actions.max())}; the environment has 0..{real - 1}")
        pairs = torch.bincount(codes.cpu() * real + actions.cpu(), minlength=latent * real)
        self.counts.copy_(pairs.reshape(latent, real))

    def draw(self, code: int, rng: np.random.Generator) -> tuple[int, bool]:
        """A real action u ~ D[code]; where D[code] is empty, any action, uniformly, and True for this fallback."""
        seen = self.counts[code].cpu().numpy()
        if not seen.any():
            return int(rng.integers(len(seen))), True
        return int(np.searchsorted(np.cumsum(seen), rng.integers(seen.sum()), side="right")), False

    def likeliest(self) -> NDArray[np.int64]:
        """The commonest real action of each latent one, -1 where D is empty."""
        counts = self.counts.cpu().numpy()
        return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
