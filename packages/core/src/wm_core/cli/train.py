"""`wmbench train`: train an agent; the same command resumes."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wm_core import registry
from wm_core.cli.options import complete_agent, parse_assignments
from wm_core.errors import UsageError
from wm_core.plan import DEFAULT_GAME
from wm_core.protocols import TrainProgress
from wm_core.specs import TrainBudget
from wm_core.training import train as train_agent

_LINE_EVERY_S = 10.0


@click.command()
@click.option("--agent", "-a", required=True, shell_complete=complete_agent, help="Agent to train.")
@click.option("--game", "-g", default=DEFAULT_GAME, show_default=True, help="Game id.")
@click.option("--preset", default=None, help="A preset of the agent; see `wmbench agents`.")
@click.option("--steps", type=click.IntRange(1), default=None, help="Environment steps.  [default: the preset's]")
@click.option("--epochs", type=click.IntRange(1), default=None, help="Epochs.  [default: the preset's]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Everything is written under it.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a configuration value; repeatable.")
@click.option("--env-backend", help="Backend to use where several could serve the id.")
@click.option("--protocol", help="Named preprocessing; see `wmbench envs`.")
@click.option("--env", "env_fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of EnvSpec; repeatable.")
@click.option("--device", default=None, help="cpu, cuda, cuda:N, mps.  [default: the first of cuda, mps, cpu]")
@click.option("--num-envs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--plugin", "plugins", multiple=True, metavar="FILE.py:NAME", help="Use an unpublished plugin.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event a line on standard output.")
def train(
    agent: str,
    game: str,
    preset: str | None,
    steps: int | None,
    epochs: int | None,
    seed: int,
    out: Path | None,
    settings: Sequence[str],
    env_backend: str | None,
    protocol: str | None,
    env_fields: Sequence[str],
    device: str | None,
    num_envs: int,
    plugins: Sequence[str],
    as_json: bool,
) -> None:
    """Train an agent. Interrupted, the same command goes on from the last checkpoint."""
    for reference in plugins:
        registry.load_file(reference)
    directory = out or Path("runs") / f"{agent}-{game.rpartition('/')[2]}-seed{seed}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}; choose another --out") from error
    show, close = _display(agent, as_json)
    logs: list[Path] = []
    try:
        path = train_agent(
            agent,
            game,
            budget=TrainBudget(epochs=epochs, steps=steps),
            directory=directory,
            seed=seed,
            preset=preset,
            device=device,
            env_backend=env_backend,
            protocol=protocol,
            env_overrides=parse_assignments(env_fields, "--env"),
            settings=parse_assignments(settings, "--set"),
            num_envs=num_envs,
            on_progress=show,
            on_log=logs.append,
        )
    finally:
        close()
    if as_json:
        click.echo(json.dumps({"event": "trained", "checkpoint": str(path)}))
    else:
        said = [
            ("-g", game),
            ("-c", path),
            ("--preset", preset),
            ("--env-backend", env_backend),
            ("--protocol", protocol),
        ]
        options = [f"{option} {shlex.quote(str(value))}" for option, value in said if value is not None]
        options += [f"--env {shlex.quote(field)}" for field in env_fields]
        options += [f"--plugin {shlex.quote(plugin)}" for plugin in plugins]
        for log in logs:
            click.echo(f"log of the learning run: {log}")
        click.echo(f"checkpoint: {path}\nmeasure it: wmbench run -a {agent} {' '.join(options)}")


def _display(agent: str, as_json: bool) -> tuple[Callable[[TrainProgress], None], Callable[[], None]]:
    """How progress is shown, and how the display is closed."""
    if as_json:
        return lambda p: click.echo(json.dumps({"event": "progress", **p.model_dump()})), lambda: None
    if not sys.stderr.isatty():
        return _plain_lines(), lambda: None
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>5.1f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[message]}"),
        console=Console(stderr=True),
    )
    task = progress.add_task(f"training {agent}", total=1.0, message="")
    progress.start()
    return lambda p: progress.update(task, completed=p.done, message=p.message), progress.stop


def _plain_lines() -> Callable[[TrainProgress], None]:
    due = time.monotonic()

    def show(progress: TrainProgress) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _LINE_EVERY_S
            figures = "  ".join(f"{name} {value:.3g}" for name, value in progress.metrics.items())
            click.echo(
                f"{100 * progress.done:5.1f}%  {progress.steps} steps  {progress.message}  {figures}",
                err=True,
            )

    return show
