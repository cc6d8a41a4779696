"""`wmbench suite`: measure an agent in a whole benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from wm_core import registry
from wm_core.cli.display import cells_line, choose_watcher, files_line
from wm_core.cli.options import complete_agent, print_plan
from wm_core.cli.run_options import RunOptions, run_options
from wm_core.errors import UsageError
from wm_core.reporting.versus.write import NO_FIGURES, can_draw, write_versus
from wm_core.runner import BenchmarkRunner, exit_code
from wm_core.specs import Cell, RunReport, RunSpec, Suite
from wm_core.store import MANIFEST, RunDirectory
from wm_core.suites.checkpoints import FoundCheckpoints, find_checkpoints
from wm_core.suites.estimate import estimate, render
from wm_core.suites.planning import default_directory, load_suite, plan_suite, training_budget
from wm_core.suites.scoring import Scored, write_scores
from wm_core.suites.select import select


def _complete_suite(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in registry.names("suites") if name.startswith(incomplete)]


@click.command()
@click.argument("name", metavar="SUITE", shell_complete=_complete_suite)
@click.option("--agent", "-a", required=True, shell_complete=complete_agent, help="Agent to measure.")
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path),
    help="Directory of weights: DIR/GAME.*, or DIR/GAME/seed-N.* for each seed.",
)
@click.option("--train", is_flag=True, help="Train first, for the suite's budget.")
@click.option("--steps", type=click.IntRange(1), default=None, help="Train for so many environment steps instead.")
@click.option("--only", multiple=True, metavar="GROUP,ID,...", help="Groups or ids of the suite; globs; repeatable.")
@click.option("--retry-failed", is_flag=True, help="Measure again what has failed; it is left alone otherwise.")
@run_options(
    protocol="  [default: the suite's]",
    seeds="the suite's",
    episodes="the suite's",
    out_dir="results/SUITE-AGENT-HASH",
)
def suite(
    name: str,
    agent: str,
    checkpoints: Path | None,
    train: bool,
    steps: int | None,
    only: Sequence[str],
    retry_failed: bool,
    **said: Any,
) -> int:
    """Measure an agent in SUITE; `wmbench suites` lists them.

    The same command goes on where it was stopped. What failed, and what has no checkpoint, is listed and lowers the
    coverage; it is never a zero. --dry-run also runs a few cells for some seconds, to say what the whole will take.
    """
    options = RunOptions(**said)
    for reference in options.plugins:
        registry.load_file(reference)
    chosen = select(load_suite(name), only)
    if checkpoints is not None and chosen.measures == "learning":
        raise UsageError(f"{name} measures learning, which starts from fresh weights; leave --checkpoints out")
    found = find_checkpoints(checkpoints, chosen) if checkpoints is not None else None
    if steps is not None and not train and chosen.measures == "policy":
        raise UsageError("--steps is a training's length, but nothing is trained here; add --train")
    budget = training_budget(chosen, steps) if train or steps is not None else None
    spec = plan_suite(chosen, options.request(agent=agent, train=budget), checkpoints=found)
    root = options.out_dir or default_directory(chosen, spec, checkpoints)
    _say_what_is_left_out(found, checkpoints)
    if options.dry_run:
        _dry_run(spec, root, options)
        return 0
    return _measure(chosen, spec, root, options, retry_failed=retry_failed)


def _say_what_is_left_out(found: FoundCheckpoints | None, checkpoints: Path | None) -> None:
    if found is not None and found.unused:
        click.echo(
            f"not used, for no game of the suite has such a name: {checkpoints}/{{{','.join(found.unused)}}}", err=True
        )


def _dry_run(spec: RunSpec, root: Path, options: RunOptions) -> None:
    print_plan([spec], root, as_json=options.as_json)
    missing = spec.missing()
    if missing and not options.as_json:
        click.echo(f"  no checkpoint, so not measured: {cells_line(missing, spec.seeds)}")
    found = estimate(spec, _todo(spec, root, options), workers=options.workers)
    if options.as_json:
        click.echo(json.dumps({"event": "estimate", **found.model_dump(mode="json")}))
        return
    for line in render(found):
        click.echo(line)


def _todo(spec: RunSpec, root: Path, options: RunOptions) -> list[Cell]:
    """Cells that can be measured and are not yet."""
    missing = set(spec.missing())
    cells = [cell for cell in spec.cells() if cell not in missing]
    if options.overwrite or not (root / MANIFEST).exists():
        return cells
    ledger = RunDirectory.attach(root).ledger()
    return [cell for cell in cells if not ledger.is_done(cell)]


def _measure(suite: Suite, spec: RunSpec, root: Path, options: RunOptions, *, retry_failed: bool) -> int:
    runner = BenchmarkRunner(
        agent=spec.agent,
        out_dir=root,
        workers=options.workers,
        executor=options.executor,
        overwrite=options.overwrite,
        retry_failed=retry_failed,
        watcher=choose_watcher(options.as_json, retry_failed=retry_failed),
    )
    with redirect_stdout(sys.stderr) if options.as_json else nullcontext():
        report = runner.execute(spec)
        run = RunDirectory.attach(runner.out_dir)
        scored = write_scores(run)
        compared = _compare(suite, report, run)
    if scored is not None:
        _show_scores(scored, options.as_json)
    if compared:
        _show_comparison(suite, compared, options.as_json)
    return exit_code(report)


def _compare(suite: Suite, report: RunReport, run: RunDirectory) -> list[Path]:
    """Files of the comparison with the suite's published results; none before a game is whole."""
    whole = any(mean is not None for game in report.games for mean in game.aggregate.per_seed_means)
    return write_versus([run], suite.baselines, run.path) if suite.baselines and whole else []


def _show_comparison(suite: Suite, files: Sequence[Path], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"event": "comparison", "files": [str(file) for file in files]}))
        return
    tables = [file for file in files if file.parent == files[0].parent]
    click.echo(f"compared with {', '.join(suite.baselines)}: {files_line(tables)}")
    if not can_draw():
        click.echo(NO_FIGURES)


def _show_scores(scored: Scored, as_json: bool) -> None:
    if as_json:
        event = {"event": "scores", "files": [str(file) for file in scored.files]}
        click.echo(json.dumps(event | scored.scores.model_dump(mode="json")))
    else:
        print_scores(scored)


def print_scores(scored: Scored) -> None:
    """The scores of a suite with rules of its own, a line a group and seed, and where they were written."""
    table = Table(title=f"{scored.suite.name} scores")
    for column in ("group", "seed", "score", "tags", ""):
        table.add_column(column, overflow="fold")
    for row in scored.scores.rows:
        score = f"{row.score:.3f}" if row.complete and row.score is not None else f"incomplete {row.done}/{row.planned}"
        table.add_row(row.group, str(row.seed), score, ", ".join(row.tags), row.detail)
    Console().print(table)
    for line in (*scored.scores.notes, *scored.remarks):
        click.echo(line)
    click.echo(f"scores: {files_line(scored.files)}")
