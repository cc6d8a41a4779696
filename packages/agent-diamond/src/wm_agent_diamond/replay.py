"""What DIAMOND learns from: real episodes in uint8, and the batches each component draws of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wm_torchkit.replay import EpisodeReplay
from wm_torchkit.replay_episodes import Episodes
from wm_torchkit.replay_sampling import Sequences


@dataclass(frozen=True)
class Segments:
    """B stretches of T frames, each within one episode. Padding is grey (0) and False in `mask`."""

    obs: Tensor
    """float32 `(B, T, 3, S, S)` in [-1, 1]."""
    actions: Tensor
    """int64 `(B, T)`: taken on seeing the frame; 0 where there is none."""
    mask: Tensor
    """bool `(B, T)`: the frame is a real one."""


@dataclass(frozen=True)
class Transitions:
    """B stretches of T steps, each within one episode. Step t leads from `obs[:, t]` to `obs[:, t + 1]`."""

    obs: Tensor
    """float32 `(B, T + 1, 3, S, S)` in [-1, 1]; after a step that ends the episode, its final observation."""
    actions: Tensor
    """int64 `(B, T)`."""
    rewards: Tensor
    """float32 `(B, T)`."""
    ends: Tensor
    """bool `(B, T)`."""
    mask: Tensor
    """bool `(B, T)`: the step is a real one."""


class DiamondReplayBuffer:
    """Episodes of uint8 RGB frames `(S, S, 3)`, and batches of them on `device`.

    Frames stay uint8, so what is saved and loaded is what was seen. Episodes are chosen by age: `age_weights` are
    the chances of as many parts of the episodes, the oldest first; within a part all are alike.
    """

    def __init__(
        self,
        image_size: int,
        *,
        action_size: int,
        capacity: int,
        rng: np.random.Generator,
        age_weights: Sequence[float] = (1.0,),
        truncation_is_end: bool = False,
        directory: Path | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self._rng = rng
        self._device = torch.device(device)
        self._age_weights = np.asarray(age_weights, np.float64)
        self._truncation_is_end = truncation_is_end
        shape = (image_size, image_size, 3)
        self.episodes = EpisodeReplay(shape, capacity, rng, num_actions=action_size, directory=directory)

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

    def segments(self, batch_size: int, length: int, *, final_frames: bool = False) -> Segments:
        """Frames up to one that is uniform over the episode's, padded at the left: for the denoiser and for dreams.

        The last frame is one that an action was taken on or, with `final_frames`, one that an action led to.
        """
        batch = self._sample(batch_size, length, "left")
        shown = slice(1, None) if final_frames else slice(0, length)
        actions = batch.actions
        if final_frames:
            actions = torch.cat([actions[:, 1:], torch.zeros_like(actions[:, :1])], dim=1)
        obs, real = self._images(batch)
        return Segments(obs[:, shown], actions.to(self._device), real[:, shown].to(self._device))

    def transitions(self, batch_size: int, length: int) -> Transitions:
        """Steps for the reward/end model: one half of the batch padded at the left, the other at the right.

        So an end is seen both as the last step of a stretch, and with nothing but padding after it.
        """
        halves = [("left", batch_size // 2), ("right", batch_size - batch_size // 2)]
        batches = [self._sample(size, length, padding) for padding, size in halves if size]
        parts = [(batch, *self._images(batch)) for batch in batches]
        ends = [batch.terminated | (batch.truncated & self._truncation_is_end) for batch in batches]
        return Transitions(
            torch.cat([obs for _, obs, _ in parts]),
            torch.cat([batch.actions for batch in batches]).to(self._device),
            torch.cat([batch.rewards for batch in batches]).to(self._device),
            torch.cat(ends).to(self._device),
            torch.cat([batch.mask for batch in batches]).to(self._device),
        )

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """What is sampled inside changes no later sample."""
        before = self._rng.bit_generator.state
        try:
            yield
        finally:
            self._rng.bit_generator.state = before

    def state_dict(self) -> dict[str, Any]:
        """That of the episodes."""
        return self.episodes.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.episodes.load_state_dict(state)

    def committed(self) -> None:
        """The latest state is safely written."""
        self.episodes.committed()

    def _sample(self, batch_size: int, length: int, padding: Any) -> Sequences:
        return self.episodes.sample(batch_size, length, padding, self._weights)

    def _weights(self, episodes: Episodes) -> NDArray[np.float64]:
        """One an episode: its part's chance, shared by the part. An episode without steps has no share."""
        weights = np.zeros(len(episodes.steps))
        parts = np.array_split(np.flatnonzero(episodes.steps > 0), len(self._age_weights))
        for part, chance in zip(parts, self._age_weights, strict=True):
            weights[part] = chance / max(len(part), 1)
        return weights

    def _images(self, batch: Sequences) -> tuple[Tensor, Tensor]:
        """float32 `(B, L + 1, 3, S, S)` on the device, and which of them are real, bool `(B, L + 1)`."""
        real = batch.frame_ids >= 0
        frames = batch.frames.to(self._device).movedim(-1, -3)
        images = to_images(frames)
        return images.masked_fill_(~real.to(self._device)[..., None, None, None], 0.0), real


def to_images(frames: Tensor) -> Tensor:
    """uint8 to float32 in [-1, 1], contiguous: x / 255 * 2 - 1."""
    return frames.to(torch.float32, memory_format=torch.contiguous_format).div_(255).mul_(2).sub_(1)
