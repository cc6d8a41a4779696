"""`wmbench agents`, `envs`, `plugins`: what is installed."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wm_core import registry
from wm_core.errors import PluginError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def agents(as_json: bool) -> None:
    """List the installed agents. No learning library is imported."""
    rows = []
    for name in registry.names("agents"):
        try:
            manifest = registry.manifest("agents", name)
        except PluginError as error:
            rows.append({"name": name, "error": str(error)})
            continue
        rows.append(manifest.model_dump(mode="json") | {"source": registry.find("agents", name).source})
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = _table("agent", "from", "does", "presets", "summary")
    for row in rows:
        if "error" in row:
            table.add_row(row["name"], "", "", "", f"[red]broken[/red]: {escape(row['error'])}")
        else:
            does, presets = ", ".join(row["capabilities"]), ", ".join(row["presets"])
            table.add_row(row["name"], row["source"], does, presets, f"{row['summary']} {row['paper']}".strip())
    Console().print(table)


@click.command()
@click.option("--ids", is_flag=True, help="Also list every game id.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def envs(ids: bool, as_json: bool) -> None:
    """List the environment backends, their protocols, and with --ids their games."""
    rows: list[dict[str, Any]] = []
    for name in registry.names("envs"):
        try:
            manifest, backend = registry.manifest("envs", name), registry.load_backend(name)
            row = {"name": name, "source": registry.find("envs", name).source, "summary": manifest.summary}
            row["protocols"] = {key: dict(value) for key, value in backend.protocols().items()}
            row["ids"] = list(backend.ids())
        except PluginError as error:
            row = {"name": name, "error": str(error)}
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = _table("backend", "from", "games", "protocols", "summary")
    for row in rows:
        if "error" in row:
            table.add_row(row["name"], "", "", "", f"[red]broken[/red]: {escape(row['error'])}")
            continue
        table.add_row(row["name"], row["source"], str(len(row["ids"])), "\n".join(row["protocols"]), row["summary"])
    Console().print(table)
    if ids:
        for row in rows:
            for game in row.get("ids", ()):
                click.echo(f"{row['name']}\t{game}")


@click.command()
@click.option("--check", is_flag=True, help="Import each one, adapters and backends too; exit 1 if any is broken.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def plugins(check: bool, as_json: bool) -> int:
    """List all plugins of all kinds. Without --check nothing is imported."""
    rows: list[dict[str, str]] = []
    for kind in registry.KINDS:
        for plugin in registry.plugins(kind):
            if isinstance(plugin, PluginError):
                rows.append({"kind": kind, "name": "?", "source": "", "target": "", "state": f"BROKEN: {plugin}"})
                continue
            row = {"kind": kind, "name": plugin.name, "source": plugin.source, "target": plugin.target}
            if check:
                row["state"] = _state(plugin)
            rows.append(row)
    broken = [row for row in rows if row.get("state", "ok") != "ok"]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return 1 if broken else 0
    table = _table("kind", "name", "from", "target", *(["state"] if check else []))
    for row in rows:
        table.add_row(*map(escape, row.values()))
    Console().print(table)
    return 1 if broken else 0


def _table(*columns: str) -> Table:
    """Names that must be typed are folded on a narrow terminal, never cut."""
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _state(plugin: registry.Plugin) -> str:
    try:
        registry.load(plugin.kind, plugin.name)
        if plugin.kind == "agents":
            registry.load_adapter(plugin.name)
        elif plugin.kind == "envs":
            registry.load_backend(plugin.name)
    except PluginError as error:
        return f"BROKEN: {error}"
    return "ok"
