"""What several commands do with their options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wm_core import registry
from wm_core.errors import UsageError
from wm_core.specs import RunSpec


def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Shell completion: names of installed agents. Imports none of them."""
    return [name for name in registry.names("agents") if name.startswith(incomplete)]


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, Any]:
    """`NAME=VALUE` pairs; a value is JSON where it parses as such, text otherwise."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{option} '{text}' is not NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


def parse_checkpoint_map(texts: Sequence[str], agents: Sequence[str]) -> dict[str, str]:
    """`AGENT=PATH` pairs, each of an agent that is installed and takes part."""
    weights: dict[str, str] = {}
    for text in texts:
        agent, equals, path = text.partition("=")
        if not agent or not equals or not path:
            raise UsageError(f"--checkpoint-map '{text}' is not AGENT=PATH")
        registry.find("agents", agent)
        if agent not in agents:
            raise UsageError(f"--checkpoint-map names '{agent}', which does not take part; add --agent {agent}")
        if agent in weights:
            raise UsageError(f"--checkpoint-map names '{agent}' twice")
        weights[agent] = path
    return weights


def print_plan(specs: Sequence[RunSpec], root: Path, *, as_json: bool) -> None:
    """`--dry-run`: what would be measured, in full."""
    if as_json:
        for spec in specs:
            click.echo(json.dumps({"event": "plan", "out_dir": str(root), "spec": spec.model_dump(mode="json")}))
        return
    for spec in specs:
        cells = spec.cells()
        click.echo(f"{spec.agent}: {len(cells)} cells x {spec.episodes} episodes on {spec.device} -> {root}")
        for env in spec.envs:
            weights = spec.checkpoints.get(env.id)
            state = f"checkpoint {weights.path} (sha256 {weights.sha256[:12]})" if weights else "no checkpoint"
            if spec.untrained:
                state = "UNTRAINED weights"
            if spec.train is not None:
                state = f"trained first: {spec.train.model_dump(exclude_none=True)}"
            click.echo(f"  {env.id} (asked for: {env.requested}), {state}")
            click.echo(f"    {env.model_dump_json(exclude={'requested', 'id'})}")
        click.echo(f"  seeds {', '.join(map(str, spec.seeds))}; {spec.num_envs} environments together")
