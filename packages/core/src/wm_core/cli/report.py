"""`wmbench report`: write the reports again from what is recorded."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from wm_core.errors import UsageError
from wm_core.reporting import write_combined, write_report
from wm_core.reporting.console import render_table
from wm_core.results import build_report
from wm_core.runner import exit_code
from wm_core.store import MANIFEST, RunDirectory


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
def report(directory: Path) -> int:
    """Write the reports of DIRECTORY: one run, or a folder of runs of several agents."""
    if (directory / MANIFEST).exists():
        runs = [directory]
    elif directory.is_dir():
        runs = sorted(path.parent for path in directory.glob(f"*/{MANIFEST}"))
    else:
        raise UsageError(f"no directory {directory}")
    if not runs:
        raise UsageError(f"{directory} is not a run directory and holds none; expected a {MANIFEST}")
    reports = []
    for path in runs:
        built = build_report(RunDirectory.attach(path))
        reports.append(built)
        for file in write_report(built, path):
            click.echo(file)
        Console().print(render_table(built))
    if runs != [directory]:
        for file in write_combined(reports, directory):
            click.echo(file)
    return max(exit_code(built) for built in reports)
