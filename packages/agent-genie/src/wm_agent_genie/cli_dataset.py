"""`wmbench dataset`: make and check datasets of video."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wm_core.errors import UsageError


@click.group()
def dataset() -> None:
    """Collect, import and check video to learn from."""


@dataset.command()
@click.option("--game", "-g", required=True, help="Game id.")
@click.option("--policy", default="random", show_default=True, help="random, expert (scripted), or an agent's name.")
@click.option("--checkpoint", "-c", type=click.Path(path_type=Path), help="Weights of the agent.")
@click.option("--steps", type=click.IntRange(1), required=True, help="Environment steps.")
@click.option("--random-share", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Of random actions.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory of the dataset.")
@click.option("--resize", metavar="HxW", help="Height and width of the frames, in pixels.")
@click.option("--env", "env_fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of EnvSpec; repeatable.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def collect(
    game: str,
    policy: str,
    checkpoint: Path | None,
    steps: int,
    random_share: float,
    out: Path,
    resize: str | None,
    env_fields: Sequence[str],
    seed: int,
) -> None:
    """Play, and keep frames, actions and rewards."""
    from wm_agent_genie.data.collect import collect as collect_video
    from wm_agent_genie.data.collect import scripted_expert
    from wm_agent_genie.video_sources import random_policy
    from wm_core.cli.options import parse_assignments
    from wm_core.plan import Request, plan

    overrides = parse_assignments(env_fields, "--env") | ({} if resize is None else {"image_size": _size(resize)})
    plays_itself = policy in ("random", "expert")
    if plays_itself and checkpoint is not None:
        raise UsageError(f"the policy {policy} has no weights; leave -c out, or name an agent with --policy")
    request = Request(
        agent="random" if plays_itself else policy,
        games=[game],
        checkpoint=checkpoint,
        env_overrides={"observation": "rgb", **overrides} if plays_itself else overrides,
        seeds=[seed],
        num_envs=1,
    )
    run = plan(request)
    spec, source = run.envs[0], {"random": "random actions", "expert": "scripted expert"}.get(policy, policy)
    if policy == "random":
        player: Any = random_policy(spec)
    elif policy == "expert":
        player = scripted_expert(spec.id)
    else:
        player = _agent(run)
    manifest = collect_video(spec, player, out, steps=steps, source=source, seed=seed, random_share=random_share)
    click.echo(_described(out, manifest))


@dataset.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory of the dataset.")
@click.option("--game", default="", help="What the video is of.")
@click.option("--resize", metavar="HxW", help="Height and width of the frames, in pixels.")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Of a film, keep each N-th frame.")
@click.option("--actions", type=click.IntRange(1), help="Number of actions.  [default: as many as occur]")
@click.option("--key", "keys", multiple=True, metavar="ARRAY=NAME", help="What the file calls an array; repeatable.")
def import_(
    files: Sequence[Path],
    out: Path,
    game: str,
    resize: str | None,
    every: int,
    actions: int | None,
    keys: Sequence[str],
) -> None:
    """Make a dataset of films (MP4, ...), npz and HDF5 files."""
    from wm_agent_genie.data.importers import import_files

    names = dict(_pair(key) for key in keys)
    size = None if resize is None else _size(resize)
    manifest = import_files(files, out, game=game, actions=actions, size=size, every=every, names=names)
    click.echo(_described(out, manifest))


@dataset.command()
@click.argument("directory", type=click.Path(path_type=Path))
def validate(directory: Path) -> None:
    """Check that a dataset is whole."""
    from wm_agent_genie.data.validate import validate as check

    click.echo(_described(directory, check(directory)))


def _agent(run: Any) -> Any:
    """The agent of a plan, with its weights, as something that acts."""
    from wm_core import registry
    from wm_core.context import agent_context
    from wm_core.protocols import Acts

    spec = run.envs[0]
    adapter = registry.load_adapter(run.agent)(agent_context(run, spec, run.seeds[0]))
    if not isinstance(adapter, Acts):
        raise UsageError(f"{run.agent} plays by itself only, and cannot be watched; use another agent")
    if spec.id in run.checkpoints:
        adapter.load_checkpoint(Path(run.checkpoints[spec.id].path))  # type: ignore[attr-defined]
    return adapter


def _size(text: str) -> tuple[int, int]:
    parts = text.split("x")
    if len(parts) != 2 or not all(re.fullmatch("[1-9][0-9]{0,3}", part) for part in parts):
        raise UsageError(f"--resize {text} is not HEIGHTxWIDTH in pixels, like 64x64, each 9999 at most")
    return int(parts[0]), int(parts[1])


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise UsageError(f"--key {text} is not ARRAY=NAME, like frames=obs")
    return name, value


def _described(directory: Path, m: Any) -> str:
    actions = "no actions" if m.actions is None else f"{m.actions} actions"
    returned = "" if m.mean_return is None else f", mean return {m.mean_return:.3f}"
    return (
        f"{directory}: {m.frames} frames of {m.height}x{m.width}x{m.channels} in {m.episodes} episodes, "
        f"{actions}{returned}; {m.source}"
    )
