"""The options that every command which measures has, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wm_core.cli.options import parse_assignments
from wm_core.plan import Request, parse_seeds


@dataclass(frozen=True)
class RunOptions:
    """What was said; None: not said."""

    protocol: str | None
    env_fields: Sequence[str]
    seeds: str | None
    episodes: int | None
    out_dir: Path | None
    device: str | None
    preset: str | None
    settings: Sequence[str]
    num_envs: int
    workers: int
    executor: str | None
    untrained: bool
    overwrite: bool
    plugins: Sequence[str]
    video: bool
    dry_run: bool
    as_json: bool

    def request(self, **more: Any) -> Request:
        """What is to be measured, as the planner takes it; `more` are the command's own fields of `Request`."""
        return Request(
            protocol=self.protocol,
            env_overrides=parse_assignments(self.env_fields, "--env"),
            seeds=parse_seeds(self.seeds) if self.seeds is not None else None,
            episodes=self.episodes,
            preset=self.preset,
            settings=parse_assignments(self.settings, "--set"),
            untrained=self.untrained,
            device=self.device,
            num_envs=self.num_envs,
            plugins=self.plugins,
            video=self.video,
            **more,
        )


def run_options(
    *, protocol: str, seeds: str, episodes: str, out_dir: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that adds the options of `RunOptions`. The arguments name the command's defaults, for its help."""
    options = (
        click.option("--protocol", help=f"Named preprocessing, e.g. atari100k; see `wmbench envs`.{protocol}"),
        click.option(
            "--env", "env_fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of EnvSpec; repeatable."
        ),
        click.option(
            "--seeds",
            default=None,
            help=f"5 is the seeds 0 to 4; 0,1,7 and 7, are those seeds.  [default: {seeds}]",
        ),
        click.option("--episodes", "-n", type=int, default=None, help=f"Episodes a seed.  [default: {episodes}]"),
        click.option("--out-dir", "--out_dir", type=click.Path(path_type=Path), help=f"[default: {out_dir}]"),
        click.option("--device", default=None, help="cpu, cuda, cuda:N, mps.  [default: the first of cuda, mps, cpu]"),
        click.option("--preset", default=None, help="A preset of the agent; see `wmbench agents`."),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Set a configuration value of the training; repeatable.",
        ),
        click.option("--num-envs", type=int, default=8, show_default=True, help="Environments stepped together."),
        click.option("--workers", type=int, default=1, show_default=True, help="Cells measured at the same time."),
        click.option("--executor", default=None, help="Where cells run: serial, process, or a plugin's."),
        click.option("--untrained", is_flag=True, help="Measure fresh weights; every output will say so."),
        click.option("--overwrite", is_flag=True, help="Replace another run in the same directory."),
        click.option("--plugin", "plugins", multiple=True, metavar="FILE.py:NAME", help="Use an unpublished plugin."),
        click.option("--video", is_flag=True, help="Film the first episode of each seed as MP4."),
        click.option("--dry-run", is_flag=True, help="Print what would be measured, and stop."),
        click.option("--json", "as_json", is_flag=True, help="One JSON event a line on standard output."),
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
