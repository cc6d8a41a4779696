"""What several commands do with their options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wm_core import registry
from wm_core.errors import UsageError
from wm_core.specs import Cell, RunSpec, TrainBudget


def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Shell completion: names of installed agents. Imports none of them."""
    return [name for name in registry.names("agents") if name.startswith(incomplete)]


_MAX_DEPTH = 32


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, Any]:
    """`NAME=VALUE` pairs; a value is JSON where it parses as such, text otherwise.

    Raises `UsageError` for what could not be written down again: text that is not Unicode, lists in lists without
    end, numbers that JSON does not know.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{option} {_quoted(text)} is not NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
        except RecursionError:
            raise _too_deep(option, text) from None
        except ValueError as error:
            raise UsageError(f"{option} {_quoted(text)} holds an integer of too many digits; shorten it") from error
        if _is_deeper(values[name], _MAX_DEPTH):
            raise _too_deep(option, text)
        try:
            json.dumps({name: values[name]}, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{option} {_quoted(text)} is not valid Unicode text; write it as UTF-8") from error
        except ValueError as error:
            raise UsageError(f"{option} {_quoted(text)} is NaN or infinite; expected finite numbers") from error
    return values


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in inner)


def _too_deep(option: str, text: str) -> UsageError:
    return UsageError(f"{option} {_quoted(text)} is nested too deeply; expected at most {_MAX_DEPTH} levels")


def _quoted(text: str) -> str:
    """The text as it can be printed on one line, cut short."""
    shown = " ".join((text if len(text) <= 80 else f"{text[:77]}...").split())
    return "'" + shown.encode("utf-8", "backslashreplace").decode() + "'"


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
        each = "a learning run" if spec.measures == "learning" else f"{spec.episodes} episodes"
        click.echo(f"{spec.agent}: {len(cells)} cells, each {each}, on {spec.device} -> {root}")
        played: dict[str, list[str]] = {}
        for env in spec.envs:
            asked = "" if env.requested == env.id else f" (asked for: {env.requested})"
            line = f"  {env.id}{asked}, {_weights_of(spec, env.id)}"
            played.setdefault(env.model_dump_json(exclude={"requested", "id"}), []).append(line)
        for fields, lines in played.items():
            click.echo("\n".join([*lines, f"    {fields}"]))
        click.echo(f"  seeds {', '.join(map(str, spec.seeds))}; {spec.num_envs} environments together")


def _weights_of(spec: RunSpec, game: str) -> str:
    if spec.untrained:
        return "UNTRAINED weights"
    if spec.measures == "learning":
        return _learning_of(spec.train)
    if spec.train is not None:
        return f"trained first: {spec.train.model_dump(exclude_none=True) or 'as long as its preset says'}"
    weights = [spec.checkpoint(Cell(agent=spec.agent, game=game, seed=seed)) for seed in spec.seeds]
    named = dict.fromkeys(f"{one.path} (sha256 {one.sha256[:12]})" for one in weights if one is not None)
    if named:
        return f"checkpoint {', '.join(named)}"
    return "no checkpoint" if spec.partial else "without weights"


def _learning_of(budget: TrainBudget | None) -> str:
    if budget is None:
        return "acts without training"
    limit = budget.model_dump(exclude_none=True)
    return f"learns from fresh weights: {limit or 'until all its episodes are logged'}"
