"""`wmbench report`: write the reports again from what is recorded, and compare runs with each other and with papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console

from wm_core.cli.display import files_line
from wm_core.errors import StoreError, UsageError
from wm_core.metrics.published import PublishedScores, find_baselines
from wm_core.reporting import write_combined, write_report
from wm_core.reporting.console import render, render_combined, render_table
from wm_core.reporting.figure_style import can_draw
from wm_core.reporting.versus.tables import aggregates_table, pairs_table
from wm_core.reporting.versus.write import NO_FIGURES, compare_runs, write_comparison, write_figures
from wm_core.results import build_report
from wm_core.specs import RunReport
from wm_core.store import MANIFEST, RunDirectory
from wm_core.suites.scoring import write_scores

Run = tuple[RunDirectory, RunReport]


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    "-b",
    "baselines",
    multiple=True,
    metavar="NAMES",
    help="Published results to compare with, e.g. iris,spr,my.json; see `wmbench baselines`. Repeatable.",
)
@click.option(
    "--out-dir",
    type=click.Path(path_type=Path),
    help="Where comparisons go.  [default: DIR; results/comparison where several are given]",
)
def report(directories: Sequence[Path], baselines: Sequence[str], out_dir: Path | None) -> int:
    """Write the reports of each DIR: a run, or a folder of runs of several agents.

    Several runs, or runs and published results, are compared as well: comparison.{json,csv,md,tex}, and figures/
    where matplotlib is installed (pip install 'wm-core[plots]'). Ends with 1 when something planned was not measured.
    """
    published = find_baselines(baselines)
    found = {directory: _runs_in(directory) for directory in directories}
    alone = sum(map(len, found.values())) == 1
    runs: list[Run] = []
    damaged = False
    for directory, paths in found.items():
        reported: list[Run] = []
        for path in paths:
            try:
                reported.append(_report(path))
            except StoreError as error:
                if alone:
                    raise
                click.echo(f"error: {error}", err=True)
                damaged = True
        if paths != [directory] and reported:
            files = write_combined([built for _, built in reported], directory)
            click.echo(f"combined: {files_line(files)}")
        runs += reported
    if runs:
        _compare(runs, published, out_dir or (directories[0] if len(directories) == 1 else Path("results/comparison")))
    return 1 if damaged or not all(built.coverage.complete for _, built in runs) else 0


def _runs_in(directory: Path) -> list[Path]:
    if (directory / MANIFEST).exists():
        return [directory]
    if not directory.is_dir():
        raise UsageError(f"no directory {directory}")
    found = sorted(path.parent for path in directory.glob(f"*/{MANIFEST}"))
    if not found:
        raise UsageError(f"{directory} is not a run directory and holds none; expected a {MANIFEST}")
    return found


def _report(path: Path) -> Run:
    run = RunDirectory.attach(path)
    built = build_report(run)
    click.echo(f"results: {files_line(write_report(built, path))}")
    scored = write_scores(run)
    if scored is not None:
        click.echo(f"suite: {files_line([file for file in scored.files if file.stem == 'suite'])}")
        for remark in scored.remarks:
            click.echo(remark, err=True)
    if not built.coverage.complete:
        unit = "learning runs" if built.measures == "learning" else "episodes"
        click.echo(f"{path}: {unit} {built.coverage}, {len(built.failures)} failures", err=True)
    return run, built


def _compare(runs: Sequence[Run], baselines: Sequence[PublishedScores], directory: Path) -> None:
    """The tables in the terminal, and the comparison's files."""
    played = [(run, built) for run, built in runs if built.measures == "policy"]
    several = len(played) + len(baselines) > 1
    for _, built in runs if len(runs) == 1 else ():
        Console().print(render_table(built))
    if len(runs) > 1:
        Console().print(render_combined([built for _, built in runs]))
    if not played:
        return
    comparison = compare_runs(played, baselines)
    if several:
        files = write_comparison(comparison, directory)
        for table in (aggregates_table(comparison), pairs_table(comparison)):
            if table is not None:
                Console().print(render(table))
        click.echo(f"comparison: {files_line([file for file in files if file.stem == 'comparison'])}")
    else:
        files = write_figures(comparison, directory)
    drawn = [file for file in files if file.parent.name == "figures"]
    if drawn:
        click.echo(f"figures: {', '.join(_names(drawn))} (.pdf, .png) in {drawn[0].parent}")
    elif not can_draw():
        click.echo(NO_FIGURES, err=True)


def _names(files: Sequence[Path]) -> Iterator[str]:
    return iter(dict.fromkeys(file.stem for file in files))
