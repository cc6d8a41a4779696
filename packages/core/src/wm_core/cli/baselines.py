"""`wmbench baselines`: published results to compare with, and files of scores to compare with."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wm_core.atomic import write_text
from wm_core.errors import UsageError
from wm_core.metrics.published import PublishedScores, packaged, read_scores


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="All of it, scores included, as JSON.")
@click.pass_context
def baselines(ctx: click.Context, as_json: bool) -> None:
    """List the published results that reports can be compared with, and where their numbers are from."""
    if ctx.invoked_subcommand is not None:
        return
    found = list(packaged().values())
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    width = max(len(each.name) for each in found)
    for each in found:
        of = "" if each.runs_each is None else f" of {each.runs_each} runs"
        rounded = "" if each.rounding is None else f", rounded to {each.rounding}"
        click.echo(f"{each.name:{width}}  {each.label}, {each.paper}: {len(each.means)} games, means{of}{rounded}")
        click.echo(f"{'':{width}}  from {each.source}")
        if each.note:
            click.echo(f"{'':{width}}  {each.note}")
    click.echo("\nUse them: wmbench report DIR --baseline iris,spr; wmbench compare DIR iris.")
    click.echo("Your own scores: wmbench baselines import FILE.json")


@baselines.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="What to call the agent, where the file names none.  [default: the file's name]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("baselines"),
    show_default=True,
    help="The directory they go to, a file for each agent.",
)
def import_(file: Path, name: str | None, out: Path) -> None:
    """Check the scores in FILE and keep them for reports: {"Pong": [a score a run, ...], ...}, or those by agent.

    `wmbench report DIR --baseline baselines/NAME.json` then compares with them.
    """
    found = read_scores(file, name)
    targets = [out / f"{_file_name(each.name)}.json" for each in found]
    for target, each in zip(targets, found, strict=True):
        if target.exists() and target.resolve() != file.resolve() and not _same(target, each):
            raise UsageError(f"{target} holds other scores; remove it, or use another --name or --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {out}: {error.strerror or error}; use another --out") from error
    for target, each in zip(targets, found, strict=True):
        write_text(target, each.model_dump_json(indent=2) + "\n")
        runs = [len(scores) for scores in each.scores.values()]
        count = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        click.echo(f"{target}: {each.label}, {len(runs)} games, {count} runs each")


def _same(target: Path, scores: PublishedScores) -> bool:
    try:
        return [each.scores for each in read_scores(target)] == [scores.scores]
    except UsageError:
        return False


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name).lstrip(".") or "scores"
