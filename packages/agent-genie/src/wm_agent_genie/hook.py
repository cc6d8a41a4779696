"""Beside the report of a run of Genie: its score among its controls. Imports torch only when there is such a run."""

from __future__ import annotations

from pathlib import Path

import click

from wm_core.hooks import hookimpl
from wm_core.specs import RunReport


@hookimpl
def wm_run_finished(report: RunReport, directory: Path) -> None:
    """Write `genie.json` and `genie.md` into the run's directory, and say on standard error what they hold."""
    if report.agent != "genie" or report.untrained or not report.coverage.measured:
        return
    from wm_agent_genie.controls import measure_controls
    from wm_agent_genie.controls_report import lines, write

    found = measure_controls(report, directory)
    if found.games:
        write(found, directory)
        for line in lines(found):
            click.echo(line, err=True)
