"""What a replay gives: sequences within one episode, padded, and stretches of the stream across episodes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_core.errors import UsageError
from wm_torchkit.replay_episodes import Episodes
from wm_torchkit.replay_storage import Rows

Padding = Literal["left", "right"]


class _Batch:
    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        tensors = {field.name: getattr(self, field.name).to(device) for field in fields(self)}  # type: ignore[arg-type]
        return type(self)(**tensors)


@dataclass(frozen=True)
class Sequences(_Batch):
    """Sequences of L steps within one episode each. Step `l` leads from `frames[:, l]` to `frames[:, l + 1]`.

    Padded steps and frames are zero, and False in `mask`.
    """

    frames: Tensor
    """uint8 `(B, L + 1, H, W, C)`: before each step, and after the last one. Without pixels, `(B, L + 1, 0, 0, 0)`,
    where the replay stores vectors alone."""
    vectors: Tensor
    """float32 `(B, L + 1, D)`, like `frames`; D is 0 where the replay stores frames alone."""
    actions: Tensor
    """int64 `(B, L)` or float32 `(B, L, A)`: taken on seeing `frames[:, l]`."""
    rewards: Tensor
    """float32 `(B, L)`: received for the step."""
    terminated: Tensor
    """bool `(B, L)`: the step led to a terminal state."""
    truncated: Tensor
    """bool `(B, L)`: the step was the last one for another reason, such as a time limit."""
    is_first: Tensor
    """bool `(B, L)`: the step is its episode's first."""
    mask: Tensor
    """bool `(B, L)`: the step is a real one."""
    frame_ids: Tensor
    """int64 `(B, L + 1)`: which stored frame it is, -1 for padding. Never given twice; of the frames in the
    replay no two agree modulo its capacity."""

    @property
    def observations(self) -> Tensor:
        """uint8 `(B, L, H, W, C)`: the frames before each step."""
        return self.frames[:, :-1]

    @property
    def next_observations(self) -> Tensor:
        """uint8 `(B, L, H, W, C)`: the frames after each step; at an episode's end its final observation."""
        return self.frames[:, 1:]


@dataclass(frozen=True)
class Stream(_Batch):
    """Stretches of L records as they were collected, across episodes.

    A record is an observation and what led to it, so an episode of T steps has T + 1 records; the first has
    `is_first`, a zero action and no reward, the last `terminated` or `truncated`.
    """

    frames: Tensor
    """uint8 `(B, L, H, W, C)`; without pixels, `(B, L, 0, 0, 0)`, where the replay stores vectors alone."""
    vectors: Tensor
    """float32 `(B, L, D)`; D is 0 where the replay stores frames alone."""
    previous_actions: Tensor
    """int64 `(B, L)` or float32 `(B, L, A)`: the action before the observation."""
    rewards: Tensor
    """float32 `(B, L)`: received on arriving at the observation."""
    terminated: Tensor
    """bool `(B, L)`: the observation is of a terminal state."""
    truncated: Tensor
    """bool `(B, L)`: the observation is the episode's last for another reason."""
    is_first: Tensor
    """bool `(B, L)`: the observation is its episode's first: state and previous action start anew."""
    frame_ids: Tensor
    """int64 `(B, L)`: as in `Sequences`."""


def episode_probabilities(episodes: Episodes, weights: NDArray[np.floating] | None) -> NDArray[np.float64]:
    """The chance of each episode, shape `(n,)`: uniform or by weight, and 0 for one that has no step yet.

    Raises `UsageError` when there is none to choose, or when the weights are not one number >= 0 an episode.
    """
    eligible = episodes.steps > 0
    if not eligible.any():
        raise UsageError("the replay holds no step yet, so nothing can be sampled; collect before training")
    if weights is None:
        return np.asarray(eligible / eligible.sum(), np.float64)
    given = np.asarray(weights, np.float64)
    if given.shape != eligible.shape:
        raise UsageError(f"{given.shape} episode weights for {len(eligible)} episodes; give one an episode")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise UsageError("episode weights must be finite and not negative")
    total = float((given * eligible).sum())
    if total == 0:
        raise UsageError("all episodes that have steps have weight 0, so nothing can be sampled")
    return given * eligible / total


def sequence_rows(
    first_rows: NDArray[np.int64],
    steps: NDArray[np.int64],
    length: int,
    padding: Padding,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Rows of one sequence from each of B episodes, shape `(B, length + 1)`, -1 for padding.

    Right padding: the first step is uniform over the episode's. Left padding: the last one is.
    """
    if padding == "right":
        offset = rng.integers(0, steps)
    elif padding == "left":
        offset = rng.integers(1, steps + 1) - length
    else:
        raise UsageError(f"padding is '{padding}'; expected 'left' or 'right'")
    within = offset[:, None] + np.arange(length + 1)
    return np.where((within >= 0) & (within <= steps[:, None]), first_rows[:, None] + within, -1)


def sequences(rows: Rows, ids: NDArray[np.int64]) -> Sequences:
    """Steps out of rows of shape `(B * (L + 1), ...)`, whose ids are `ids` `(B, L + 1)`."""
    table = _tensors(rows, ids)
    mask = torch.from_numpy((ids[:, :-1] >= 0) & (ids[:, 1:] >= 0))
    step = {name: table[name][:, 1:].contiguous() for name in ("action", "reward", "terminated", "truncated")}
    for values in step.values():
        values[~mask] = 0
    return Sequences(
        frames=table["frame"],
        vectors=table["vector"],
        actions=step["action"],
        rewards=step["reward"],
        terminated=step["terminated"],
        truncated=step["truncated"],
        is_first=table["is_first"][:, :-1] & mask,
        mask=mask,
        frame_ids=torch.from_numpy(ids),
    )


def stream(rows: Rows, ids: NDArray[np.int64]) -> Stream:
    """Records out of rows of shape `(B * L, ...)`, whose ids are `ids` `(B, L)`."""
    table = _tensors(rows, ids)
    return Stream(
        frames=table["frame"],
        vectors=table["vector"],
        previous_actions=table["action"],
        rewards=table["reward"],
        terminated=table["terminated"],
        truncated=table["truncated"],
        is_first=table["is_first"],
        frame_ids=torch.from_numpy(ids),
    )


def _tensors(rows: Rows, ids: NDArray[np.int64]) -> dict[str, Tensor]:
    none = {"frame": torch.empty(*ids.shape, 0, 0, 0, dtype=torch.uint8), "vector": torch.empty(*ids.shape, 0)}
    given = {name: torch.from_numpy(values.reshape(*ids.shape, *values.shape[1:])) for name, values in rows.items()}
    return none | given
