"""The checkpoints of one training, and the state that goes on with the newest: always a pair that fits.

`NAME-000007.safetensors` are checkpoints, the newest few kept. `training-state.safetensors` is all else
(optimizers, random states, counters), and names the checkpoint it belongs to, with its SHA-256. A save
writes the checkpoint first; replacing the state file commits it. Whenever the process is killed, the state
file names a checkpoint that is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from wm_core.errors import CheckpointError, DiskError, UsageError
from wm_torchkit.atomic_files import write_atomically
from wm_torchkit.checkpoint import (
    CheckpointHeader,
    read_checkpoint,
    read_metadata,
    read_tensors,
    serialize,
    write_checkpoint,
)
from wm_torchkit.state_tree import join_state, split_state

STATE_FORMAT = "wmbench.training-state/1"
_STATE_FILE = "training-state.safetensors"
_KEY = "wmbench"


@dataclass(frozen=True)
class SavedTraining:
    """The newest committed pair."""

    path: Path
    header: CheckpointHeader
    weights: dict[str, Tensor]
    state: Any


class CheckpointStore:
    """Saves checkpoints with their training state under `directory`; keeps the `keep` newest."""

    def __init__(self, directory: Path, name: str, keep: int = 3) -> None:
        if keep < 1:
            raise UsageError(f"keep is {keep}; expected at least 1 checkpoint")
        self.directory = directory
        self._name = name
        self._keep = keep
        self._state_file = directory / _STATE_FILE
        self._number = self._read_pointer()["number"] if self._state_file.exists() else 0

    def save(self, header: CheckpointHeader, weights: Mapping[str, Tensor], state: Any) -> Path:
        """Write a checkpoint and its training state; the checkpoint's path.

        Raises `DiskError` when the disk refuses; what was saved before is still there and whole.
        """
        number = self._number + 1
        path = self._path(number)
        tensors, tree = split_state(state)
        try:
            sha256 = write_checkpoint(path, header, weights)
            pointer = {
                "format": STATE_FORMAT,
                "number": number,
                "checkpoint": path.name,
                "sha256": sha256,
                "tree": tree,
            }
            write_atomically(self._state_file, serialize(tensors, {_KEY: json.dumps(pointer, allow_nan=False)}))
        except OSError as error:
            last = self.latest_path()
            raise DiskError(
                f"cannot save a checkpoint under {self.directory}: {error.strerror or error}; "
                f"the last good one is {last or 'missing, as none was saved yet'}"
            ) from error
        self._number = number
        for old in self.directory.glob(f"{self._name}-??????.safetensors"):
            if not number - self._keep < int(old.stem[-6:]) <= number:
                old.unlink()
        return path

    def latest_path(self) -> Path | None:
        """The newest committed checkpoint."""
        return self._path(self._number) if self._number else None

    def load(self, agent: str, agent_format: str) -> SavedTraining | None:
        """The newest committed pair; None when there is none yet.

        Raises `CheckpointError` when a file is damaged, or the checkpoint is not the one that was written.
        """
        if not self._state_file.exists():
            return None
        pointer = self._read_pointer()
        path = self.directory / pointer["checkpoint"]
        header, weights = read_checkpoint(path, agent, agent_format)
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != pointer["sha256"]:
                raise CheckpointError(f"{path} was changed since {self._state_file} was written with it; restore it")
        state = join_state(read_tensors(self._state_file), pointer["tree"])
        return SavedTraining(path, header, weights, state)

    def _path(self, number: int) -> Path:
        return self.directory / f"{self._name}-{number:06d}.safetensors"

    def _read_pointer(self) -> dict[str, Any]:
        text = read_metadata(self._state_file).get(_KEY, "{}")
        try:
            pointer: dict[str, Any] = json.loads(text)
        except json.JSONDecodeError as error:
            raise CheckpointError(f"{self._state_file} has a damaged header; train in another directory") from error
        if pointer.get("format") != STATE_FORMAT:
            raise CheckpointError(
                f"{self._state_file} has format '{pointer.get('format')}'; this wm-torchkit reads "
                f"'{STATE_FORMAT}'. Train in another directory"
            )
        return pointer
