"""Read a video dataset: clips by index arithmetic from memory-mapped frames."""

from __future__ import annotations

import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wm_agent_genie.data.format import ACTIONS, EPISODES, LEVELS, REWARDS, read_manifest, shard_name
from wm_core.errors import UsageError


class Clips(NamedTuple):
    """A batch of B clips of T frames."""

    frames: NDArray[np.uint8]
    """(B, T, H, W, C)"""
    actions: NDArray[np.int64] | None
    """(B, T-1), those between the frames; None where the dataset has none."""


class VideoDataset:
    """The episodes of a dataset, or some of them. Clips never cross episodes.

    Frames stay on disk; each batch maps them anew, so that resident memory does not grow with what was read.
    """

    def __init__(self, directory: str | Path, episodes: NDArray[np.int64] | None = None) -> None:
        self.directory = Path(directory)
        self.manifest = read_manifest(self.directory)
        self.offsets: NDArray[np.int64] = self._array(EPISODES, self.manifest.episodes + 1)
        self.episodes = np.arange(len(self.offsets) - 1) if episodes is None else episodes
        self.lengths: NDArray[np.int64] = np.diff(self.offsets)[self.episodes]
        self._shard_starts = np.concatenate([[0], np.cumsum(self.manifest.shards)])

    @cached_property
    def actions(self) -> NDArray[np.int64] | None:
        """Of all frames of the directory, -1 where there is none; None where the dataset has none."""
        return None if self.manifest.actions is None else self._array(ACTIONS, self.manifest.frames)

    @cached_property
    def rewards(self) -> NDArray[np.float32] | None:
        """As `actions`."""
        return self._array(REWARDS, self.manifest.frames) if self.manifest.rewards else None

    def split(self, held_out: float, by: str = "episode") -> tuple[VideoDataset, VideoDataset]:
        """(training, held out): about that share of episodes, or of levels with all their episodes, at least one.

        The choice depends on the dataset alone: every later use of it holds out the same.
        """
        if not 0 < held_out < 1:
            raise UsageError(f"held_out={held_out}; expected a share between 0 and 1")
        if by == "level" and not self.manifest.levels:
            raise UsageError(f"{self.directory} does not say which level an episode is of; split by episode")
        if by not in ("episode", "level"):
            raise UsageError(f"split by '{by}'; expected episode or level")
        groups = self._array(LEVELS, self.manifest.episodes)[self.episodes] if by == "level" else self.episodes
        names = np.unique(groups)
        if len(names) < 2:
            raise UsageError(f"{self.directory} has one {by} only, of which none can be held out; collect more")
        chosen = np.random.default_rng(len(names)).permutation(names)[: max(1, round(held_out * len(names)))]
        out = np.isin(groups, chosen)
        return (
            VideoDataset(self.directory, self.episodes[~out]),
            VideoDataset(self.directory, self.episodes[out]),
        )

    def sample(self, rng: np.random.Generator, batch: int, length: int) -> Clips:
        """Clips of `length` frames, uniform over all places where one fits."""
        fitting = np.maximum(self.lengths - length + 1, 0)
        ends = np.cumsum(fitting)
        if not ends[-1]:
            raise UsageError(
                f"{self.directory} has no episode of {length} frames (the longest has {self.lengths.max()}); "
                "use a shorter clip_frames, or longer episodes"
            )
        drawn = rng.integers(ends[-1], size=batch)
        which = np.searchsorted(ends, drawn, side="right")
        starts = self.offsets[self.episodes[which]] + drawn - (ends[which] - fitting[which])
        return self._clips(starts, length)

    def windows(self, length: int, limit: int | None = None) -> Clips:
        """Clips of `length` frames, one after another from each episode, without overlap; at most `limit`."""
        starts = [
            start
            for episode, frames in zip(self.episodes, self.lengths, strict=True)
            for start in range(self.offsets[episode], self.offsets[episode] + frames - length + 1, length)
        ]
        if not starts:
            raise UsageError(f"{self.directory} has no episode of {length} frames among those asked for")
        return self._clips(np.array(starts[:limit]), length)

    def transitions(self, length: int, limit: int | None = None) -> tuple[Clips, NDArray[np.bool_]]:
        """Clips of `length` frames that together hold each transition, and bool (B, T-1), true where it is new.

        The last clip of an episode reaches back over the one before where frames do not divide evenly. Episodes
        shorter than a clip are left out. With `limit`, clips until so many transitions are held, if there are.
        """
        starts, new = [], []
        held = 0
        for episode, frames in zip(self.episodes, self.lengths, strict=True):
            last = int(frames) - length
            for start in (*range(0, last, length - 1), last) if last >= 0 else ():
                if limit is not None and held >= limit:
                    break
                marks = np.arange(length - 1) >= (-start % (length - 1) if start == last else 0)
                starts.append(self.offsets[episode] + start)
                new.append(marks)
                held += int(marks.sum())
        if not starts:
            raise UsageError(f"{self.directory} has no episode of {length} frames among those asked for")
        return self._clips(np.array(starts), length), np.stack(new)

    def episode(self, index: int) -> Clips:
        """The `index`-th episode as a batch of one clip."""
        return self._clips(self.offsets[self.episodes[index : index + 1]], int(self.lengths[index]))

    def _clips(self, starts: NDArray[np.int64], length: int) -> Clips:
        m = self.manifest
        frames = np.empty((len(starts), length, m.height, m.width, m.channels), np.uint8)
        shards = np.searchsorted(self._shard_starts, starts, side="right") - 1
        for shard in np.unique(shards):
            stored = self._array(shard_name(int(shard)), m.shards[shard], m.height, m.width, m.channels, mapped=True)
            for row in np.flatnonzero(shards == shard):
                first = starts[row] - self._shard_starts[shard]
                frames[row] = stored[first : first + length]
        actions = None if self.actions is None else self.actions[starts[:, None] + np.arange(length - 1)]
        return Clips(frames, actions)

    def _array(self, name: str, *shape: int, mapped: bool = False) -> NDArray[Any]:
        path = self.directory / name
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise UsageError(
                f"{path} cannot be read ({error}); run `wmbench dataset validate {path.parent}`"
            ) from error
        if not isinstance(array, np.ndarray) or array.shape != shape:
            has = f"shape {array.shape}" if isinstance(array, np.ndarray) else "several arrays"
            raise UsageError(f"{path} has {has}, expected {shape}; run `wmbench dataset validate {path.parent}`")
        return array
