"""`wmbench run-cell CELL.json`: what executors run. Not for people."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import click
from pydantic import ValidationError

from wm_core.cell import run_cell as measure
from wm_core.errors import UsageError
from wm_core.protocols import CellJob


@click.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--with-parent", is_flag=True, help="End when standard input closes.")
def run_cell(job: Path, with_parent: bool) -> int:
    """Measure the one cell described in JOB, a JSON file, into the run directory it names."""
    if with_parent:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        parsed = CellJob.model_validate_json(job.read_text())
    except OSError as error:
        raise UsageError(f"cannot read the cell {job}: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError(f"{job} is not a cell: {error.error_count()} problems; was it written by wmbench?") from error
    return measure(parsed)


def _end_with_parent() -> None:
    """The parent holds the other end of standard input; when it is gone, so must we be."""
    while os.read(sys.stdin.fileno(), 1024):
        continue
    os._exit(1)
