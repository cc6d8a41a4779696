"""What a cell is doing now, for whoever watches: one small file a cell, replaced about once a second.

It is never read for a result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from wm_core.specs import Spec

STATUS_SUFFIX = ".status.json"
_INTERVAL_S = 0.5


class CellStatus(Spec):
    """A cell's present state."""

    phase: Literal["starting", "training", "playing", "done"]
    done: float | None = None
    steps: int = 0
    message: str = ""


class StatusFile:
    """Writes a cell's status, at most twice a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next = 0.0
        path.parent.mkdir(exist_ok=True)

    def write(self, status: CellStatus) -> None:
        """Replace the status. A disk that refuses it refuses the next record too, and that one is reported."""
        temporary = self.path.with_suffix(".tmp")
        try:
            temporary.write_text(status.model_dump_json())
            os.replace(temporary, self.path)
        except OSError:
            self._next = time.monotonic() + 10 * _INTERVAL_S

    def write_now_and_then(self, status: Callable[[], CellStatus]) -> None:
        """Replace the status if the last write is half a second old."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL_S
            self.write(status())


def read_status(path: Path) -> CellStatus | None:
    """The last status written, or None before the first."""
    try:
        return CellStatus.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None
