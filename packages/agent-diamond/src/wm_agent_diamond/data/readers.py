"""Episodes out of files: `.npz`, `.hdf5`, and video with a table of its actions. Nothing is unpickled."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm_agent_diamond.data.episode import Episode, checked
from wm_core.errors import UsageError

Arrays = dict[str, Any]
"""By their names in the schema."""


@contextmanager
def _damage_named(source: str, kind: str) -> Iterator[None]:
    """Makes a `UsageError` of whatever a library raises inside at a damaged file; of which kinds, none of them says."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{source}: no {kind} that can be read ({said}); write it again") from error


def read_npz(path: Path) -> Iterator[Episode]:
    """One episode, its arrays named as in the schema."""
    with _damage_named(str(path), "file of plain arrays"), np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    yield checked(str(path), **arrays)


def read_hdf5(path: Path) -> Iterator[Episode]:
    """One episode at the root, or one in each group, in the order of their names; attributes are not read."""
    try:
        import h5py
    except ImportError as error:
        raise UsageError(f"{path}: HDF5 needs h5py: pip install 'wm-agent-diamond[hdf5]', or use npz") from error

    def arrays(name: str | None, source: str) -> Arrays:
        with _damage_named(source, "HDF5"), h5py.File(path, "r") as file:
            group = file if name is None else file[name]
            if not isinstance(group, h5py.Group):
                raise UsageError(f"{source}: an array beside no 'frames'; expected a group an episode")
            inner = [str(each) for each in group if isinstance(group[each], h5py.Group)]
            if inner:
                raise UsageError(f"{source}: a group '{inner[0]}' in an episode; expected arrays alone")
            return {str(each): group[each][()] for each in group}

    with _damage_named(str(path), "HDF5"), h5py.File(path, "r") as file:
        groups = [None] if "frames" in file else sorted(map(str, file))
    if not groups:
        raise UsageError(f"{path}: holds nothing; expected 'frames' and 'actions', or a group an episode")
    for name in groups:
        source = str(path) if name is None else f"{path}/{name}"
        yield checked(source, **arrays(name, source))


def read_video(path: Path) -> Iterator[Episode]:
    """One episode: every frame of the film, and `NAME.csv` beside it.

    The table has a column `action`, and may have `reward` and `terminated` (0 or 1, read in its last row); a row is
    a step.
    """
    try:
        import av
    except ImportError as error:
        raise UsageError(f"{path}: video needs PyAV: pip install 'wm-agent-diamond[video]', or use npz") from error
    table = path.with_suffix(".csv")
    if not table.is_file():
        raise UsageError(f"{path}: its actions are missing; write them to {table}, with a column 'action'")
    with _damage_named(str(path), "video"), av.open(str(path)) as film:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)])
    yield checked(str(path), frames=frames, **_table(table))


def _table(path: Path) -> Arrays:
    with _damage_named(str(path), "table"), path.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    names = set(rows[0]) if rows else set()
    if "action" not in names or names - {"action", "reward", "terminated"}:
        found = ", ".join(sorted(map(str, names))) or "nothing"
        raise UsageError(f"{path}: columns {found}; expected action, and perhaps reward and terminated")
    columns: Arrays = {"actions": _column(path, rows, "action", int)}
    if "reward" in names:
        columns["rewards"] = _column(path, rows, "reward", float)
    if "terminated" in names:
        columns["terminated"] = bool(_column(path, rows[-1:], "terminated", int)[0])
    return columns


def _column(path: Path, rows: list[dict[str, str]], name: str, kind: Callable[[str], Any]) -> NDArray[Any]:
    values = []
    for number, row in enumerate(rows, start=2):
        try:
            values.append(kind(row[name]))
        except (ValueError, TypeError) as error:
            raise UsageError(f"{path}, line {number}: {name} is {row[name]!r}; expected {kind.__name__}") from error
    return np.array(values)


READERS: dict[str, Callable[[Path], Iterator[Episode]]] = {
    ".npz": read_npz,
    **dict.fromkeys((".h5", ".hdf5"), read_hdf5),
    **dict.fromkeys((".mp4", ".mkv", ".avi", ".mov", ".webm"), read_video),
}
"""By suffix."""


def episode_files(path: Path) -> list[Path]:
    """The file itself, or all files of episodes under a directory, in the order of their names."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.suffix.lower() in READERS)
        if not files:
            raise UsageError(f"{path} holds no episodes; expected files of {', '.join(READERS)}")
        return files
    if not path.is_file():
        raise UsageError(f"no episodes at {path}")
    if path.suffix.lower() not in READERS:
        raise UsageError(f"{path}: cannot read '{path.suffix}'; expected one of {', '.join(READERS)}")
    return [path]


def read_episodes(path: Path) -> Iterator[Episode]:
    """All episodes of a file or a directory, one after the other, so that only one is in memory.

    Raises `UsageError`, naming the file, at the first that is not as the schema wants it.
    """
    for file in episode_files(path):
        yield from READERS[file.suffix.lower()](file)
