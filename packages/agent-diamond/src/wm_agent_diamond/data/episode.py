"""What an episode of one's own is.

An episode of T steps has

| name | shape | kind | |
|---|---|---|---|
| `frames` | (T + 1, H, W, 3) or (T + 1, H, W) | uint8 | before each action, and after the last one |
| `actions` | (T,) | integers from 0 to 65,535 | `actions[t]` is taken on `frames[t]` and leads to `frames[t + 1]` |
| `rewards` | (T,) | numbers | optional, 0 where missing |
| `terminated` | one | boolean | optional, False where missing: whether the last step ended the game |

Where an episode does not end with `terminated`, it was cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm_core.errors import UsageError

MOST_ACTIONS = 65_536
"""All actions are below; the networks have weights for each number up to the largest."""


@dataclass(frozen=True)
class Episode:
    """One checked episode; see the module for the shapes."""

    source: str
    """Where it comes from, for messages."""
    frames: NDArray[np.uint8]
    """`(T + 1, H, W, 3)`."""
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    terminated: bool

    @property
    def steps(self) -> int:
        """T."""
        return len(self.actions)


def checked(source: str, **given: object) -> Episode:
    """An episode of arrays by name. Raises `UsageError`, naming the source, at what the schema does not allow."""
    unknown = sorted(given.keys() - {"frames", "actions", "rewards", "terminated"})
    if unknown:
        raise UsageError(f"{source}: unknown {', '.join(unknown)}; the names are frames, actions, rewards, terminated")
    for name in ("frames", "actions"):
        if given.get(name) is None:
            raise UsageError(f"{source}: no '{name}'; it is needed")
    frames = _frames(source, np.asarray(given["frames"]))
    steps = len(frames) - 1
    actions = np.asarray(given["actions"])
    if not np.issubdtype(actions.dtype, np.integer):
        raise UsageError(f"{source}: actions of {actions.dtype}; expected integers from 0, so discretise them first")
    _require_length(source, "actions", actions, steps)
    if steps and actions.min() < 0:
        raise UsageError(f"{source}: an action of {actions.min()}; they count from 0")
    if steps and actions.max() >= MOST_ACTIONS:
        raise UsageError(
            f"{source}: an action of {actions.max()}, and they are below {MOST_ACTIONS}; codes of keys and the like "
            "are to be numbered from 0, one after the other"
        )
    rewards = np.zeros(steps) if given.get("rewards") is None else np.asarray(given["rewards"], np.float64)
    _require_length(source, "rewards", rewards, steps)
    if not np.isfinite(rewards).all():
        raise UsageError(f"{source}: a reward that is not finite, at step {int(np.argmin(np.isfinite(rewards)))}")
    terminated = np.asarray(False if given.get("terminated") is None else given["terminated"])
    if terminated.shape != () or terminated.dtype.kind not in "biu":
        raise UsageError(f"{source}: terminated of shape {terminated.shape}; expected one boolean for the last step")
    return Episode(source, frames, actions.astype(np.int64), rewards.astype(np.float32), bool(terminated))


def _frames(source: str, frames: NDArray[np.generic]) -> NDArray[np.uint8]:
    if frames.dtype != np.uint8:
        raise UsageError(f"{source}: frames of {frames.dtype}; expected uint8 in 0..255, so scale and round them first")
    if frames.ndim == 3:
        frames = np.repeat(frames[..., None], 3, axis=-1)
    if frames.ndim != 4 or frames.shape[-1] != 3:
        raise UsageError(f"{source}: frames of shape {frames.shape}; expected (T + 1, H, W, 3) or (T + 1, H, W)")
    if len(frames) < 2:
        raise UsageError(f"{source}: {len(frames)} frame(s); an episode has one before each action and one after it")
    return np.asarray(frames, np.uint8)


def _require_length(source: str, name: str, values: NDArray[np.generic], steps: int) -> None:
    if values.ndim != 1 or len(values) != steps:
        raise UsageError(
            f"{source}: {name} of shape {values.shape} for {steps + 1} frames; expected ({steps},), one less than "
            "frames, as the last frame is the one after the last action"
        )
