"""What IRIS learns from: real episodes, and the batches each component draws of them. Algorithm 1, Appendix A.4."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wm_agent_iris.frame_cache import FrameCache
from wm_agent_iris.imagination import Context
from wm_agent_iris.observations import to_channels_first
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer
from wm_agent_iris.world_model.world_model import WorldModelBatch
from wm_torchkit.device import Precision
from wm_torchkit.replay import EpisodeReplay
from wm_torchkit.replay_sampling import Sequences


class IRISReplayBuffer:
    """Episodes of uint8 RGB frames `(S, S, 3)`, and batches of them on the device of `tokenizer`.

    The episode is uniform, not by length. The tokenizer's and the world model's sequences start uniformly in it and
    are padded at the right; the policy's stop uniformly and are padded at the left. Call `tokenizer_changed` after
    each update of the tokenizer: until then, tokens and reconstructions are computed once a frame.

    As published, an episode that was cut by a time limit counts as ended.
    """

    def __init__(
        self,
        tokenizer: IRISTokenizer,
        *,
        action_size: int,
        capacity: int,
        rng: np.random.Generator,
        directory: Path | None = None,
        cached_reconstructions: int = 100_000,
        precision: Precision = "float32",
    ) -> None:
        size = tokenizer.config.image_size
        self._rng = rng
        self._tokenizer = tokenizer
        self.episodes = EpisodeReplay((size, size, 3), capacity, rng, num_actions=action_size, directory=directory)
        self._cache = FrameCache(tokenizer, self.episodes.capacity, cached_reconstructions, precision)

    @property
    def num_steps(self) -> int:
        """Steps held now."""
        return self.episodes.num_steps

    def begin_episode(self, frame: NDArray[np.uint8]) -> None:
        """An episode starts at its first frame, uint8 `(S, S, 3)`."""
        self.episodes.begin_episode(np.ascontiguousarray(frame))

    def add_step(
        self, action: ArrayLike, reward: float, terminated: bool, truncated: bool, next_frame: NDArray[np.uint8]
    ) -> None:
        """An action, counted from 0, what it brought, and the frame it led to."""
        self.episodes.add_step(action, reward, terminated, truncated, np.ascontiguousarray(next_frame))

    def tokenizer_changed(self) -> None:
        """Forget tokens and reconstructions."""
        self._cache.clear()

    def tokenizer_batch(self, batch_size: int) -> Tensor:
        """Frames, uint8 `(B, 3, S, S)`."""
        batch = self.episodes.sample(batch_size, 1)
        return to_channels_first(batch.observations[:, 0], self._device)

    def world_model_batch(self, batch_size: int, length: int) -> WorldModelBatch:
        """Sequences of `length` steps, with tokens."""
        batch = self.episodes.sample(batch_size, length, "right")
        return WorldModelBatch(
            self._tokens(batch).to(self._device),
            batch.actions.to(self._device),
            batch.rewards.to(self._device),
            (batch.terminated | batch.truncated).to(self._device),
            batch.mask.to(self._device),
        )

    def actor_critic_batch(self, batch_size: int, burn_in: int) -> Context:
        """Where dreams begin: a frame each, and the `burn_in` reconstructed ones before it."""
        batch = self.episodes.sample(batch_size, burn_in + 1, "left")
        seen = self._reconstructions(batch).to(self._device)
        tokens = self._tokens(batch)[:, -1].to(self._device)
        return Context(tokens, seen[:, -1], seen[:, :-1], batch.mask[:, :-1].to(self._device))

    def frames(self, batch_size: int, length: int) -> tuple[Tensor, Tensor]:
        """For pictures: frames, uint8 `(B, T, 3, S, S)` on the device, and their actions `(B, T)`."""
        batch = self.episodes.sample(batch_size, length, "right")
        return to_channels_first(batch.observations, self._device), batch.actions.to(self._device)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """What is sampled inside changes no later sample."""
        before = self._rng.bit_generator.state
        try:
            yield
        finally:
            self._rng.bit_generator.state = before

    def state_dict(self) -> dict[str, Any]:
        """That of the episodes; what is cached is computed again."""
        return self.episodes.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.episodes.load_state_dict(state)
        self._cache.clear()

    def committed(self) -> None:
        """The latest state is safely written."""
        self.episodes.committed()

    @property
    def _device(self) -> torch.device:
        return self._tokenizer.quantizer.codebook.device

    def _tokens(self, batch: Sequences) -> Tensor:
        """int64 `(B, L, K)`, zero on padding."""
        real, ids = batch.mask, batch.frame_ids[:, :-1]
        tokens = torch.zeros(*real.shape, self._tokenizer.config.tokens_per_frame, dtype=torch.long)
        tokens[real] = self._cache.tokens(ids[real].numpy(), batch.observations[real])
        return tokens

    def _reconstructions(self, batch: Sequences) -> Tensor:
        """float32 `(B, L, 3, S, S)`, zero on padding."""
        real, ids = batch.mask, batch.frame_ids[:, :-1]
        size = self._tokenizer.config.image_size
        seen = torch.zeros(*real.shape, 3, size, size)
        seen[real] = self._cache.reconstructions(ids[real].numpy(), batch.observations[real])
        return seen
