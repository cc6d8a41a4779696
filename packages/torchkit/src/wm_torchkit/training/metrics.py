"""Means over an epoch, and where they go: a CSV file, and TensorBoard where asked for."""

from __future__ import annotations

import csv
import logging
import math
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import torch
from torch import Tensor

from wm_core.errors import UsageError
from wm_torchkit.nan_guard import NonFiniteError
from wm_torchkit.training.schedule import Metrics

_LOG = logging.getLogger(__name__)
_READ_EVERY = 64
"""Tensors that are waited for together."""
_COLUMNS = ("epoch", "env_steps", "name", "value")


class EpochMeans:
    """Mean of each metric over the steps of an epoch that gave it. `NonFiniteError` for a NaN or infinity."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}
        self._waiting: list[tuple[str, Tensor]] = []

    def add(self, part: str, metrics: Metrics) -> None:
        """Metrics of one step; they are called `part/name`."""
        for name, value in metrics.items():
            if isinstance(value, Tensor):
                self._waiting.append((f"{part}/{name}", value.detach().float().reshape(())))
            else:
                self._count(f"{part}/{name}", float(value))
        if len(self._waiting) >= _READ_EVERY:
            self._read()

    def means(self) -> dict[str, float]:
        """Means so far."""
        self._read()
        return {name: total / count for name, (total, count) in self._sums.items()}

    def clear(self) -> None:
        """Begin another epoch."""
        self._sums, self._waiting = {}, []

    def state_dict(self) -> dict[str, Any]:
        """Sums so far."""
        self._read()
        return {"sums": dict(self._sums)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the sums back."""
        self._sums, self._waiting = dict(state["sums"]), []

    def _read(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            values = torch.stack([value for _, value in waiting]).tolist()
            for (name, _), value in zip(waiting, values, strict=True):
                self._count(name, value)

    def _count(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            raise NonFiniteError(f"the metric '{name}' is {value}")
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = total + value, count + 1


class MetricsLog:
    """`metrics.csv` (columns epoch, env_steps, name, value) and TensorBoard files under `directory`.

    A context manager. Restored, it drops the lines that were written after the checkpoint.
    """

    def __init__(self, directory: Path, tensorboard: bool = False) -> None:
        self._path = directory / "metrics.csv"
        self._tensorboard_directory = directory / "tensorboard" if tensorboard else None
        if tensorboard:
            _require_tensorboard()
        self._kept_bytes = 0
        self._first_epoch = 1
        self._file: TextIO | None = None
        self._writer: Any = None

    def __enter__(self) -> MetricsLog:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        there = self._path.stat().st_size if self._path.exists() else 0
        if there < self._kept_bytes:
            _LOG.warning("%s was cut or removed: it lacks lines before this checkpoint", self._path)
        with self._path.open("ab") as stream:
            stream.truncate(min(there, self._kept_bytes))
        self._file = self._path.open("a", newline="", encoding="utf-8")
        if self._path.stat().st_size == 0:
            csv.writer(self._file).writerow(_COLUMNS)
            self._file.flush()
        if self._tensorboard_directory is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._tensorboard_directory), purge_step=self._first_epoch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        self._file.close()
        if self._writer is not None:
            self._writer.close()

    def write(self, epoch: int, env_steps: int, values: Mapping[str, float]) -> None:
        """One line a value."""
        assert self._file is not None
        csv.writer(self._file).writerows([epoch, env_steps, name, value] for name, value in values.items())
        self._file.flush()
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(name, value, epoch)
            self._writer.flush()

    def state_dict(self) -> dict[str, Any]:
        """How far the file reaches."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"bytes": self._path.stat().st_size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there when it is entered."""
        self._kept_bytes = state["bytes"]

    def resume_at(self, epoch: int) -> None:
        """TensorBoard drops what it has from that epoch on."""
        self._first_epoch = epoch


def _require_tensorboard() -> None:
    if find_spec("tensorboard") is None:
        raise UsageError("TensorBoard is not installed: pip install 'wm-torchkit[tensorboard]'")
