"""`wmbench report`: write the reports again from what is recorded."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from wm_core.cli.display import files_line
from wm_core.errors import StoreError, UsageError
from wm_core.reporting import write_combined, write_report
from wm_core.reporting.console import render_combined, render_table
from wm_core.results import build_report
from wm_core.store import MANIFEST, RunDirectory


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
def report(directory: Path) -> int:
    """Write the reports of DIRECTORY: one run, or a folder of runs of several agents.

    Ends with 1 when something planned was not measured.
    """
    if (directory / MANIFEST).exists():
        runs = [directory]
    elif directory.is_dir():
        runs = sorted(path.parent for path in directory.glob(f"*/{MANIFEST}"))
    else:
        raise UsageError(f"no directory {directory}")
    if not runs:
        raise UsageError(f"{directory} is not a run directory and holds none; expected a {MANIFEST}")
    reports, damaged = [], False
    for path in runs:
        try:
            built = build_report(RunDirectory.attach(path))
        except StoreError as error:
            if runs == [directory]:
                raise
            click.echo(f"error: {error}", err=True)
            damaged = True
            continue
        reports.append(built)
        click.echo(f"results: {files_line(write_report(built, path))}")
        if not built.coverage.complete:
            click.echo(f"{path}: episodes {built.coverage}, {len(built.failures)} failures", err=True)
    if runs == [directory]:
        Console().print(render_table(reports[0]))
    elif reports:
        click.echo(f"combined: {files_line(write_combined(reports, directory))}")
        Console().print(render_combined(reports))
    return 1 if damaged or not all(built.coverage.complete for built in reports) else 0
