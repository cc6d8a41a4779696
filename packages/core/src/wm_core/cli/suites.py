"""`wmbench suites`: what is installed."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wm_core import registry
from wm_core.errors import PluginError
from wm_core.specs import Suite


@click.command()
@click.option("--ids", is_flag=True, help="Also list every group and its game ids.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def suites(ids: bool, as_json: bool) -> None:
    """List the installed suites. Nothing but their data is imported."""
    found: list[tuple[str, Suite | PluginError]] = []
    for name in registry.names("suites"):
        try:
            found.append((name, registry.manifest("suites", name)))
        except PluginError as error:
            found.append((name, error))
    if as_json:
        click.echo(json.dumps([_row(name, suite) for name, suite in found], indent=2))
        return
    table = Table()
    for column in ("suite", "from", "games", "measures", "summary"):
        table.add_column(column, overflow="fold")
    for name, suite in found:
        if isinstance(suite, PluginError):
            table.add_row(name, "", "", "", f"[red]broken[/red]: {escape(str(suite))}")
            continue
        source = registry.find("suites", name).source
        table.add_row(name, source, _games(suite), _measures(suite), f"{suite.summary} {suite.paper}".strip())
    Console().print(table)
    if ids:
        for name, suite in found:
            if isinstance(suite, Suite):
                for group, games in suite.games.items():
                    click.echo(f"{name}\t{group}\t{' '.join(games)}")


def _row(name: str, suite: Suite | PluginError) -> dict[str, Any]:
    if isinstance(suite, PluginError):
        return {"name": name, "error": str(suite)}
    return suite.model_dump(mode="json") | {"source": registry.find("suites", name).source}


def _games(suite: Suite) -> str:
    games = len(suite.ids())
    return str(games) if games == len(suite.games) else f"{games} in {len(suite.games)} groups"


def _measures(suite: Suite) -> str:
    seeds = f"{len(suite.seeds)} seed{'s' * (len(suite.seeds) > 1)}"
    if suite.measures == "learning":
        return f"learning runs, {seeds}"
    budget = suite.budget.steps if suite.budget else None
    return f"{seeds}, {suite.episodes} episodes each" + (f", after {budget:,} steps" if budget else "")
