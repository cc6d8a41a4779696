"""Write a video dataset, episode by episode; the manifest comes last, so a directory with one is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from wm_agent_genie.data.format import ACTIONS, EPISODES, LEVELS, MANIFEST, NO_ACTION, REWARDS, Manifest, shard_name
from wm_core.atomic import write_text
from wm_core.errors import UsageError

SHARD_BYTES = 256 * 2**20
LOCK = ".writing"


class DatasetWriter:
    """Takes episodes with `add`; `finish` makes a dataset of them.

    `about` are fields of the manifest that only the caller knows: source, game, actions, seed, env.
    """

    def __init__(self, directory: Path, *, shard_bytes: int = SHARD_BYTES, **about: Any) -> None:
        actions = about.get("actions")
        self._most_actions = np.iinfo(np.int64).max if actions is None else int(actions)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{directory} cannot be made ({error.strerror}); name another directory") from error
        self._lock = FileLock(directory / LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise UsageError(f"another process is writing {directory}; wait for it, or name another") from error
        if (directory / MANIFEST).exists():
            raise UsageError(f"{directory} already holds a dataset; name another directory, or remove it")
        self._directory, self._about, self._shard_bytes = directory, about, shard_bytes
        self._pending: list[NDArray[np.uint8]] = []
        self._shards: list[int] = []
        self._lengths: list[int] = []
        self._actions: list[NDArray[np.int64]] = []
        self._rewards: list[NDArray[np.float32]] = []
        self._levels: list[int] = []
        self._returns: list[float] = []
        self._shape: tuple[int, ...] | None = None

    @property
    def frames(self) -> int:
        """Frames written so far."""
        return sum(self._lengths)

    def add(
        self,
        frames: NDArray[np.uint8],
        actions: NDArray[np.int64] | None = None,
        rewards: NDArray[np.float32] | None = None,
        *,
        level: int | None = None,
        ended: bool = True,
    ) -> None:
        """An episode: frames uint8 (T, H, W, C), T >= 2, and T-1 actions and rewards between them.

        `ended` is false for an episode that was cut off; its return does not count.
        """
        if (
            frames.dtype != np.uint8
            or frames.ndim != 4
            or len(frames) < 2
            or not frames.size
            or frames.shape[-1] not in (1, 3)
        ):
            raise UsageError(
                f"an episode of {frames.dtype} {frames.shape}; expected uint8 (T, H, W, C), T >= 2, H and W >= 1, C of "
                "1 or 3"
            )
        if self._shape is not None and frames.shape[1:] != self._shape:
            raise UsageError(f"frames of {frames.shape[1:]} after frames of {self._shape}; resize them to one shape")
        for name, given, kept in (
            ("actions", actions, self._actions),
            ("rewards", rewards, self._rewards),
            ("levels", level, self._levels),
        ):
            if self._lengths and bool(kept) != (given is not None):
                raise UsageError(f"{name} are given for some episodes only; give them for all or for none")
        for name, array in (("actions", actions), ("rewards", rewards)):
            if array is not None and array.shape != (len(frames) - 1,):
                raise UsageError(f"{name} of shape {array.shape} for {len(frames)} frames; expected one fewer")
        if actions is not None and (actions.min() < 0 or actions.max() >= self._most_actions):
            there_are = "" if self._about.get("actions") is None else f", and there are {self._most_actions}"
            raise UsageError(f"actions {actions.min()}..{actions.max()}{there_are}; expected them numbered from 0")
        if rewards is not None and not np.isfinite(rewards).all():
            raise UsageError("rewards hold NaN or infinity; expected finite numbers")
        self._shape = frames.shape[1:]
        if actions is not None:
            self._actions.append(np.append(actions.astype(np.int64), NO_ACTION))
        if rewards is not None:
            self._rewards.append(np.append(rewards.astype(np.float32), np.float32(0)))
            if ended:
                self._returns.append(float(rewards.sum(dtype=np.float64)))
        if level is not None:
            self._levels.append(level)
        self._lengths.append(len(frames))
        self._pending.append(frames)
        if sum(each.nbytes for each in self._pending) >= self._shard_bytes:
            self._flush()

    def finish(self) -> Manifest:
        """Write what is left, and the manifest."""
        if self._shape is None:
            raise UsageError(f"no episode of two frames or more was given for {self._directory}; nothing was written")
        self._flush()
        save = self._save
        save(EPISODES, np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64))
        if self._actions:
            save(ACTIONS, np.concatenate(self._actions))
        if self._rewards:
            save(REWARDS, np.concatenate(self._rewards))
        if self._levels:
            save(LEVELS, np.array(self._levels, np.int64))
        about = dict(self._about)
        if self._actions and about.get("actions") is None:
            about["actions"] = int(max(each.max() for each in self._actions)) + 1
        manifest = Manifest(
            **about,
            height=self._shape[0],
            width=self._shape[1],
            channels=self._shape[2],
            frames=self.frames,
            episodes=len(self._lengths),
            shards=tuple(self._shards),
            rewards=bool(self._rewards),
            levels=bool(self._levels),
            mean_return=float(np.mean(self._returns)) if self._returns else None,
        )
        write_text(self._directory / MANIFEST, manifest.model_dump_json(indent=2))
        self._lock.release()
        return manifest

    def _flush(self) -> None:
        if self._pending:
            self._save(shard_name(len(self._shards)), np.concatenate(self._pending))
            self._shards.append(sum(map(len, self._pending)))
            self._pending = []

    def _save(self, name: str, array: NDArray[Any]) -> None:
        np.save(self._directory / name, array, allow_pickle=False)
