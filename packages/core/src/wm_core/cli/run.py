"""`wmbench run`: measure agents in environments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from wm_core import registry
from wm_core.cli.display import choose_watcher, files_line
from wm_core.cli.options import complete_agent, parse_checkpoint_map, print_plan
from wm_core.cli.run_options import RunOptions, run_options
from wm_core.errors import StoreError, UsageError
from wm_core.plan import plan, train_budget
from wm_core.reporting import write_combined
from wm_core.reporting.console import render_combined
from wm_core.runner import BenchmarkRunner, exit_code
from wm_core.specs import RunReport, RunSpec


@click.command()
@click.option(
    "--agent", "-a", "agents", multiple=True, shell_complete=complete_agent, help="Agent to measure; repeatable."
)
@click.option("--all-agents", is_flag=True, help="Measure every installed agent.")
@click.option(
    "--game",
    "-g",
    "games",
    multiple=True,
    help="Game id, e.g. ALE/Pong-v5, Pong-v5, CartPole-v1; repeatable.",
)
@click.option("--checkpoint", "-c", help="Weights to measure.")
@click.option("--checkpoint-map", multiple=True, metavar="AGENT=PATH", help="Weights of each agent; repeatable.")
@click.option("--env-backend", help="Backend to use where several could serve the id.")
@click.option("--train-epochs", type=click.IntRange(1), default=None, help="Where no checkpoint is given: train first.")
@click.option("--train-steps", type=click.IntRange(1), default=None, help="The same, in environment steps.")
@run_options(protocol="", seeds="0,", episodes="100", out_dir="results/AGENT-GAME-HASH")
def run(
    agents: Sequence[str],
    all_agents: bool,
    games: Sequence[str],
    checkpoint: str | None,
    checkpoint_map: Sequence[str],
    env_backend: str | None,
    train_epochs: int | None,
    train_steps: int | None,
    **said: Any,
) -> int:
    """Measure agents in environments, and write JSON, CSV, Markdown and LaTeX reports.

    The same command goes on where it was stopped. Without a game, the agent's demo runs.
    """
    options = RunOptions(**said)
    for reference in options.plugins:
        registry.load_file(reference)
    chosen = _agents(agents, all_agents)
    weights = parse_checkpoint_map(checkpoint_map, chosen)
    if checkpoint is not None and len(chosen) > 1:
        raise UsageError("--checkpoint is of one agent; with several, use --checkpoint-map AGENT=PATH for each")
    if checkpoint is not None and weights:
        raise UsageError("--checkpoint and --checkpoint-map exclude each other; drop one of the two")
    train = None
    if train_epochs is not None or train_steps is not None:
        train = train_budget(train_epochs, train_steps)
    specs = [
        plan(
            options.request(
                agent=agent,
                games=games,
                env_backend=env_backend,
                checkpoint=weights.get(agent, checkpoint),
                train=train if agent not in weights else None,
            )
        )
        for agent in chosen
    ]
    root = options.out_dir or _default_directory(specs)
    if options.dry_run:
        print_plan(specs, root, as_json=options.as_json)
        return 0
    reports, refused = _measure(specs, root, options)
    return max([exit_code(report) for report in reports] + [1 if reports else 2] * refused)


def _agents(agents: Sequence[str], all_agents: bool) -> list[str]:
    if all_agents and agents:
        raise UsageError("--agent and --all-agents exclude each other; drop one of the two")
    chosen = registry.names("agents") if all_agents else list(agents)
    if not chosen:
        raise UsageError(f"no agent was named; use --agent with one of: {', '.join(registry.names('agents'))}")
    repeated = sorted({agent for agent in chosen if chosen.count(agent) > 1})
    if repeated:
        raise UsageError(f"--agent {', '.join(repeated)} is repeated")
    return chosen


def _default_directory(specs: Sequence[RunSpec]) -> Path:
    """A directory of its own for each specification, so that the same command finds its run again."""
    if len(specs) > 1:
        digest = "".join(spec.digest()[:2] for spec in specs)[:8]
        return Path("results") / f"{len(specs)}-agents-{digest}"
    spec = specs[0]
    game = _short(spec.envs[0].id) if len(spec.envs) == 1 else f"{len(spec.envs)}-games"
    return Path("results") / f"{spec.agent}-{game}-{spec.digest()[:8]}"


def _short(game: str) -> str:
    """`Pong-v5` of `ALE/Pong-v5`, and `catch-0` of `catch/0`."""
    name = game.rpartition("/")[2]
    return game.replace("/", "-") if name.isdigit() else name


def _measure(specs: Sequence[RunSpec], root: Path, options: RunOptions) -> tuple[list[RunReport], int]:
    """The reports, and how many agents could not even begin, each with its reason on standard error."""
    reports, refused = [], 0
    for spec in specs:
        directory = root if len(specs) == 1 else root / spec.agent
        runner = BenchmarkRunner(
            agent=spec.agent,
            out_dir=directory,
            workers=options.workers,
            executor=options.executor,
            overwrite=options.overwrite,
            watcher=choose_watcher(options.as_json),
        )
        try:
            with redirect_stdout(sys.stderr) if options.as_json else nullcontext():
                reports.append(runner.execute(spec))
        except StoreError as error:
            if len(specs) == 1:
                raise
            click.echo(f"error: {spec.agent}: {error}", err=True)
            refused += 1
    if len(reports) > 1:
        files = write_combined(reports, root)
        if not options.as_json:
            Console().print(render_combined(reports))
            click.echo(f"combined: {files_line(files)}")
    return reports, refused
