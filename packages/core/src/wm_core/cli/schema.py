"""`wmbench schema`: the published form of a result."""

from __future__ import annotations

import json

import click

from wm_core.reporting import report_schema


@click.command()
def schema() -> None:
    """Print the JSON schema of benchmark_results.json."""
    click.echo(json.dumps(report_schema(), indent=2))
