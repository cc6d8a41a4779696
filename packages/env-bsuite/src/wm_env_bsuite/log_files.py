"""bsuite's log of a learning run: one CSV file an id, a row at episodes spaced evenly in their logarithm."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from wm_core.atomic import write_text
from wm_core.errors import StoreError

Row = dict[str, float]
"""Columns of `COUNTED`, then those of the environment's own `bsuite_info`."""

COUNTED = ("steps", "episode", "total_return", "episode_len", "episode_return")

_LOGGED_TENTHS = frozenset({10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90})
"""Episodes that are logged, in tenths of the power of ten below them."""


def log_file(directory: Path, bsuite_id: str) -> Path:
    """Where the log of an id lies, e.g. 'bsuite_id_-_catch-0.csv': the name bsuite's own loader reads."""
    return directory / f"bsuite_id_-_{bsuite_id.replace('/', '-')}.csv"


def is_logged(episode: int) -> bool:
    """Whether the log has a row after that many episodes: 1, 2, ..., 10, 12, 14, 17, 20, 25, 30, 40, ..."""
    tenths, left = divmod(10 * episode, 10 ** (len(str(episode)) - 1))
    return left == 0 and tenths in _LOGGED_TENTHS


def write_log(path: Path, rows: Sequence[Row]) -> None:
    """Replace the log in one step; `StoreError` when the disk refuses it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def read_log(path: Path) -> list[Row]:
    """All rows; none where there is no file. `StoreError` for a file that is no log."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = [{name: float(value) for name, value in row.items()} for row in reader]
            columns = set(reader.fieldnames or ())
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{path} is no log of bsuite: {error}; remove it, and run the same command again") from error
    if not columns.issuperset(COUNTED):
        raise StoreError(f"{path} is no log of bsuite: it lacks a column of {', '.join(COUNTED)}; remove it")
    return rows
