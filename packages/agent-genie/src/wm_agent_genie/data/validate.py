"""Check that a video dataset is whole and agrees with itself."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm_agent_genie.data.format import (
    ACTIONS,
    EPISODES,
    LEVELS,
    NO_ACTION,
    REWARDS,
    Manifest,
    read_manifest,
    shard_name,
)
from wm_core.errors import UsageError


def validate(directory: Path) -> Manifest:
    """The manifest of a whole dataset; `UsageError` with everything that is wrong with another."""
    manifest = read_manifest(directory)
    faults = list(_faults(directory, manifest))
    if faults:
        raise UsageError(f"{directory} is damaged: {'; '.join(faults)}; collect or import it again")
    return manifest


def _faults(directory: Path, m: Manifest) -> Iterator[str]:
    if sum(m.shards) != m.frames:
        yield f"shards hold {sum(m.shards)} frames, and the manifest says {m.frames}"
    wanted: dict[str, tuple[str, tuple[int, ...]]] = {EPISODES: ("int64", (m.episodes + 1,))}
    for index, frames in enumerate(m.shards):
        wanted[shard_name(index)] = ("uint8", (frames, m.height, m.width, m.channels))
    if m.actions is not None:
        wanted[ACTIONS] = ("int64", (m.frames,))
    if m.rewards:
        wanted[REWARDS] = ("float32", (m.frames,))
    if m.levels:
        wanted[LEVELS] = ("int64", (m.episodes,))
    arrays: dict[str, NDArray[Any]] = {}
    for name, (dtype, shape) in wanted.items():
        try:
            array = np.load(directory / name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            yield f"{name} cannot be read ({error})"
            continue
        if not isinstance(array, np.ndarray):
            yield f"{name} is no array"
            continue
        if (str(array.dtype), array.shape) != (dtype, shape):
            yield f"{name} is {array.dtype} {array.shape}, expected {dtype} {shape}"
            continue
        arrays[name] = array
    if EPISODES in arrays:
        yield from _of_episodes(arrays, m)


def _of_episodes(arrays: dict[str, NDArray[Any]], m: Manifest) -> Iterator[str]:
    offsets = np.asarray(arrays[EPISODES])
    if offsets[0] != 0 or offsets[-1] != m.frames or (np.diff(offsets) < 2).any():
        yield f"{EPISODES} does not lead from 0 to {m.frames} in steps of at least 2"
        return
    crossing = np.setdiff1d(np.cumsum(m.shards), offsets)
    if len(crossing):
        yield f"an episode lies in two shards, at frame {crossing[0]}"
    last = offsets[1:] - 1
    if ACTIONS in arrays and m.actions is not None:
        actions = np.asarray(arrays[ACTIONS])
        if (actions[last] != NO_ACTION).any():
            yield f"{ACTIONS} has an action after the last frame of an episode"
        between = np.delete(actions, last)
        if between.min() < 0 or between.max() >= m.actions:
            yield f"{ACTIONS} holds {between.min()}..{between.max()}, and there are {m.actions} actions"
    if REWARDS in arrays and not np.isfinite(arrays[REWARDS]).all():
        yield f"{REWARDS} is not finite"
