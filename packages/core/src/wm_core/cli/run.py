"""`wmbench run`: measure agents in environments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import click
from rich.console import Console

from wm_core import registry
from wm_core.cli.display import choose_watcher, files_line
from wm_core.cli.options import complete_agent, parse_assignments, parse_checkpoint_map, print_plan
from wm_core.errors import StoreError, UsageError
from wm_core.plan import Request, parse_seeds, plan, train_budget
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
@click.option("--protocol", help="Named preprocessing, e.g. atari100k; see `wmbench envs`.")
@click.option("--env", "env_fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of EnvSpec; repeatable.")
@click.option("--seeds", default=None, help="5 is the seeds 0 to 4; 0,1,7 and 7, are those seeds.  [default: 0,]")
@click.option("--episodes", "-n", type=int, default=None, help="Episodes a seed.  [default: 100]")
@click.option("--out-dir", "--out_dir", type=click.Path(path_type=Path), help="[default: results/AGENT-GAME-HASH]")
@click.option("--device", default=None, help="cpu, cuda, cuda:N, mps.  [default: the first of cuda, mps, cpu]")
@click.option("--preset", default=None, help="A preset of the agent; see `wmbench agents`.")
@click.option("--train-epochs", type=click.IntRange(1), default=None, help="Where no checkpoint is given: train first.")
@click.option("--train-steps", type=click.IntRange(1), default=None, help="The same, in environment steps.")
@click.option("--num-envs", type=int, default=8, show_default=True, help="Environments stepped together.")
@click.option("--workers", type=int, default=1, show_default=True, help="Cells measured at the same time.")
@click.option("--executor", default=None, help="Where cells run: serial, process, or a plugin's.")
@click.option("--untrained", is_flag=True, help="Measure fresh weights; every output will say so.")
@click.option("--overwrite", is_flag=True, help="Replace another run in the same directory.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE.py:NAME", help="Use an unpublished plugin.")
@click.option("--video", is_flag=True, help="Film the first episode of each seed as MP4.")
@click.option("--dry-run", is_flag=True, help="Print what would be measured, and stop.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event a line on standard output.")
def run(
    agents: Sequence[str],
    all_agents: bool,
    games: Sequence[str],
    checkpoint: str | None,
    checkpoint_map: Sequence[str],
    env_backend: str | None,
    protocol: str | None,
    env_fields: Sequence[str],
    seeds: str | None,
    episodes: int | None,
    out_dir: Path | None,
    device: str | None,
    preset: str | None,
    train_epochs: int | None,
    train_steps: int | None,
    num_envs: int,
    workers: int,
    executor: str | None,
    untrained: bool,
    overwrite: bool,
    plugins: Sequence[str],
    video: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Measure agents in environments, and write JSON, CSV, Markdown and LaTeX reports.

    The same command goes on where it was stopped. Without a game, the agent's demo runs.
    """
    for reference in plugins:
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
            Request(
                agent=agent,
                games=games,
                env_backend=env_backend,
                protocol=protocol,
                env_overrides=parse_assignments(env_fields, "--env"),
                checkpoint=weights.get(agent, checkpoint),
                seeds=parse_seeds(seeds) if seeds is not None else None,
                episodes=episodes,
                preset=preset,
                train=train if agent not in weights else None,
                untrained=untrained,
                device=device,
                num_envs=num_envs,
                plugins=plugins,
                video=video,
            )
        )
        for agent in chosen
    ]
    root = out_dir or _default_directory(specs)
    if dry_run:
        print_plan(specs, root, as_json=as_json)
        return 0
    reports, refused = _measure(specs, root, workers, executor, overwrite=overwrite, as_json=as_json)
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
    game = spec.envs[0].id.rpartition("/")[2] if len(spec.envs) == 1 else f"{len(spec.envs)}-games"
    return Path("results") / f"{spec.agent}-{game}-{spec.digest()[:8]}"


def _measure(
    specs: Sequence[RunSpec],
    root: Path,
    workers: int,
    executor: str | None,
    *,
    overwrite: bool,
    as_json: bool,
) -> tuple[list[RunReport], int]:
    """The reports, and how many agents could not even begin, each with its reason on standard error."""
    reports, refused = [], 0
    for spec in specs:
        directory = root if len(specs) == 1 else root / spec.agent
        runner = BenchmarkRunner(
            agent=spec.agent,
            out_dir=directory,
            workers=workers,
            executor=executor,
            overwrite=overwrite,
            watcher=choose_watcher(as_json),
        )
        try:
            with redirect_stdout(sys.stderr) if as_json else nullcontext():
                reports.append(runner.execute(spec))
        except StoreError as error:
            if len(specs) == 1:
                raise
            click.echo(f"error: {spec.agent}: {error}", err=True)
            refused += 1
    if len(reports) > 1:
        files = write_combined(reports, root)
        if not as_json:
            Console().print(render_combined(reports))
            click.echo(f"combined: {files_line(files)}")
    return reports, refused
