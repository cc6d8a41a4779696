"""Make a video dataset of files: MP4 and other films, npz, HDF5.

An npz or HDF5 file holds the arrays of `ARRAYS`, of which only `frames` is required: uint8 (F, H, W, C) or (F, H, W),
or (E, T, H, W, C) for E episodes of one length. `offsets` int64 (E+1,) cut flat frames into episodes, else the file is
one; `actions` and `rewards` belong to the frame they follow (F, or F-1 for one episode); `levels` are (E,). An HDF5
file may instead hold a group for each episode, which has the arrays of one.
"""

from __future__ import annotations

import importlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm_agent_genie.data.format import Manifest
from wm_agent_genie.data.writer import DatasetWriter
from wm_agent_genie.observations import fitted
from wm_core.errors import UsageError

ARRAYS = ("frames", "actions", "rewards", "offsets", "levels")
FILMS = (".mp4", ".mkv", ".webm", ".avi", ".mov")
HDF5 = (".h5", ".hdf5")
FILM_EPISODE = 4096
"""A longer film becomes several episodes, so that memory stays bounded; no clip crosses such a cut."""


@dataclass(frozen=True)
class ImportedEpisode:
    """Frames uint8 (T, H, W, C) and what is known of them."""

    frames: NDArray[np.uint8]
    actions: NDArray[np.int64] | None = None
    rewards: NDArray[np.float32] | None = None
    level: int | None = None


def import_files(
    paths: Sequence[Path],
    directory: Path,
    *,
    game: str = "",
    actions: int | None = None,
    size: tuple[int, int] | None = None,
    every: int = 1,
    names: Mapping[str, str] | None = None,
) -> Manifest:
    """Import files, in that order, as one dataset.

    `size` (height, width) resizes by area; of films, each `every`-th frame is kept; `names` says what a file calls an
    array of `ARRAYS`, e.g. `{"frames": "obs"}`; `actions` is their number where not all of them may occur.
    """
    called = {name: name for name in ARRAYS} | dict(names or {})
    strangers = sorted(set(called) - set(ARRAYS))
    if strangers:
        raise UsageError(f"there is no array '{strangers[0]}'; choose among {', '.join(ARRAYS)}")
    source = ", ".join(path.name for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    writer = DatasetWriter(directory, source=f"imported from {source}", game=game, actions=actions)
    for path in paths:
        for episode in _episodes(path, called, every, size):
            frames = episode.frames
            if size is not None and frames.shape[1:3] != size:
                frames = np.stack([fitted(each, size, frames.shape[-1]) for each in frames])
            writer.add(frames, episode.actions, episode.rewards, level=episode.level)
    return writer.finish()


def _episodes(
    path: Path, names: Mapping[str, str], every: int, size: tuple[int, int] | None
) -> Iterator[ImportedEpisode]:
    if not path.is_file():
        raise UsageError(f"{path} is no file; name files that end in {', '.join((*FILMS, '.npz', *HDF5))}")
    kind = path.suffix.lower()
    if kind in FILMS:
        yield from _film(path, every, size)
    elif kind == ".npz":
        yield from _npz(path, names)
    elif kind in HDF5:
        yield from _hdf5(path, names)
    else:
        raise UsageError(
            f"{path} cannot be imported; expected a file that ends in {', '.join((*FILMS, '.npz', *HDF5))}"
        )


def _film(path: Path, every: int, size: tuple[int, int] | None) -> Iterator[ImportedEpisode]:
    """Frames are resized as they are decoded: of a film in full size a few thousand do not fit into memory."""
    av = _library("av", "mp4")
    frames: list[NDArray[np.uint8]] = []
    try:
        with av.open(str(path)) as container:
            for index, frame in enumerate(container.decode(video=0)):
                if index % every:
                    continue
                picture = frame.to_ndarray(format="rgb24")
                frames.append(picture if size is None else fitted(picture, size, 3))
                if len(frames) == FILM_EPISODE:
                    yield ImportedEpisode(np.stack(frames))
                    frames = []
    except (av.FFmpegError, IndexError) as error:
        raise UsageError(f"{path} cannot be decoded as a film ({error}); convert it to MP4 with H.264") from error
    if len(frames) > 1:
        yield ImportedEpisode(np.stack(frames))


def _npz(path: Path, names: Mapping[str, str]) -> Iterator[ImportedEpisode]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it is one array")
        with loaded as file:
            arrays = {name: file[key] for name, key in names.items() if key in file.files}
            listed = ", ".join(file.files)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{path} cannot be read as npz without pickle ({error}); write it with numpy.savez") from error
    yield from _cut(path, arrays, listed, names)


def _hdf5(path: Path, names: Mapping[str, str]) -> Iterator[ImportedEpisode]:
    h5py = _library("h5py", "hdf5")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise UsageError(f"{path} cannot be read as HDF5 ({error}); check that it is whole") from error
    with file:
        try:
            groups = [group for group in map(file.get, file) if isinstance(group, h5py.Group)]
            for place in [file] if names["frames"] in file or not groups else groups:
                found = {name: place[key] for name, key in names.items() if isinstance(place.get(key), h5py.Dataset)}
                arrays = {name: array if name == "frames" else array[()] for name, array in found.items()}
                yield from _cut(path, arrays, ", ".join(place), names)
        except OSError as error:
            raise UsageError(f"{path} cannot be read as HDF5 ({error}); check that it is whole") from error


def _cut(path: Path, arrays: dict[str, Any], listed: str, names: Mapping[str, str]) -> Iterator[ImportedEpisode]:
    """The episodes of one place's arrays. `frames` may be an array on disk: it is read episode by episode."""
    if "frames" not in arrays:
        raise UsageError(
            f"{path} has no array '{names['frames']}' (it has: {listed}); say which with --key frames=NAME"
        )
    for name, array in arrays.items():
        if name != "frames" and not isinstance(array, np.ndarray):
            raise UsageError(f"{path}: {name} are no array, but {array!r}; expected numbers")
    frames, offsets = arrays["frames"], arrays.get("offsets")
    if frames.dtype != np.uint8:
        raise UsageError(f"{path}: frames are {frames.dtype}; expected uint8, 0 to 255")
    if frames.ndim not in (3, 4, 5):
        raise UsageError(f"{path}: frames of shape {frames.shape}; expected (F, H, W, C), (F, H, W) or (E, T, H, W, C)")
    actions, rewards, levels = (arrays.get(name) for name in ("actions", "rewards", "levels"))
    stacked, count = frames.ndim == 5, len(frames)
    if stacked:
        count, length = frames.shape[0] * frames.shape[1], frames.shape[1]
        offsets = np.arange(0, count + 1, length) if length else None
        actions, rewards = (_padded(path, name, arrays.get(name), length) for name in ("actions", "rewards"))
    if offsets is None:
        offsets = np.array([0, count])
    if offsets.ndim != 1 or len(offsets) < 2 or offsets.dtype.kind not in "iu":
        raise UsageError(f"{path}: offsets are {offsets.dtype} {offsets.shape}; expected integers (episodes + 1,)")
    offsets = offsets.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 1).any():
        raise UsageError(f"{path}: offsets do not lead from 0 to the {count} frames in steps of at least 1")
    episodes = len(offsets) - 1
    if actions is not None and (actions.ndim != 1 or actions.dtype.kind not in "iu"):
        raise UsageError(f"{path}: actions are {actions.dtype} {actions.shape}; expected one integer for each frame")
    if rewards is not None and (rewards.ndim != 1 or rewards.dtype.kind not in "iufb"):
        raise UsageError(f"{path}: rewards are {rewards.dtype} {rewards.shape}; expected one number for each frame")
    for name, array in (("actions", actions), ("rewards", rewards)):
        if array is not None and len(array) != count and (episodes > 1 or len(array) != count - 1):
            raise UsageError(f"{path}: {len(array)} {name} for {count} frames; expected one for each frame")
    if levels is not None and (levels.shape != (episodes,) or levels.dtype.kind not in "iu"):
        raise UsageError(
            f"{path}: levels are {levels.dtype} {levels.shape}; expected integers, one for each of {episodes} episodes"
        )
    for episode, (start, end) in enumerate(pairwise(offsets)):
        if end - start < 2:
            continue
        of_episode = np.ascontiguousarray(frames[episode] if stacked else frames[start:end])
        yield ImportedEpisode(
            of_episode[..., None] if of_episode.ndim == 3 else of_episode,
            None if actions is None else actions[start : end - 1].astype(np.int64),
            None if rewards is None else rewards[start : end - 1].astype(np.float32),
            None if levels is None else int(levels[episode]),
        )


def _padded(path: Path, name: str, array: Any, length: int) -> Any:
    """(E, T-1) or (E, T) to flat (E*T,)."""
    if array is None:
        return None
    if array.ndim != 2 or array.shape[1] not in (length - 1, length):
        raise UsageError(
            f"{path}: {name} of shape {array.shape} for episodes of {length} frames; expected one for each"
        )
    return np.pad(array, ((0, 0), (0, length - array.shape[1]))).reshape(-1)


def _library(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise UsageError(f"{module} is not installed; `pip install wm-agent-genie[{extra}]`") from error
