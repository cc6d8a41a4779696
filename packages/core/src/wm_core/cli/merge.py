"""`wmbench merge`: join run directories of one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wm_core.cli.display import files_line
from wm_core.merge import merge as merge_runs
from wm_core.reporting import write_report
from wm_core.results import build_report
from wm_core.suites.scoring import write_scores


@click.command()
@click.argument("directories", metavar="DIRECTORY...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out-dir", "-o", required=True, type=click.Path(path_type=Path), help="Where the whole run is written.")
def merge(directories: Sequence[Path], out_dir: Path) -> int:
    """Join the run directories of one agent: its games or seeds, measured in different places.

    The result is a run directory like any other: the same command resumes it, `wmbench report` reports it. Runs that
    measure different things, or that disagree on an episode, are refused. Ends with 1 when something planned was not
    measured.
    """
    run = merge_runs(directories, out_dir)
    report = build_report(run)
    click.echo(f"results: {files_line(write_report(report, run.path))}")
    scored = write_scores(run)
    if scored is not None:
        click.echo(f"scores: {files_line(scored.files)}")
    if not report.coverage.complete:
        click.echo(f"{run.path}: measured {report.coverage}, {len(report.failures)} failures", err=True)
    return 0 if report.coverage.complete else 1
