"""`comparison.{json,csv,md,tex}`, `learning_curves.csv` and `figures/`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from wm_core.atomic import write_text
from wm_core.errors import UsageError
from wm_core.metrics.published import PublishedScores, find_baselines
from wm_core.reporting.comparison import general_notes, labels, protocol_notes
from wm_core.reporting.figure_style import can_draw as can_draw
from wm_core.reporting.formatting import listing
from wm_core.reporting.json_report import to_json
from wm_core.reporting.latex import document
from wm_core.reporting.layout import Table
from wm_core.reporting.markdown import escape, table_lines
from wm_core.reporting.versus.compute import compare
from wm_core.reporting.versus.contestants import contestants
from wm_core.reporting.versus.curves import curves_of
from wm_core.reporting.versus.model import Comparison
from wm_core.reporting.versus.tables import aggregates_table, games_tables, pairs_table
from wm_core.reporting.write import write_files
from wm_core.results import TWO_RUNS, build_report
from wm_core.specs import Interval, RunReport
from wm_core.store import RunDirectory

AGENTS_PER_TABLE = 4
NO_FIGURES = "no figures: matplotlib is not installed; pip install 'wm-core[plots]' and report again"
CSV_COLUMNS = ("statistic", "agent", "other", "game", "tau", "value", "lo", "hi", "refused")
CURVE_COLUMNS = ("agent", "game", "seed", "env_steps", "frames", "mean_return")


def write_versus(runs: Sequence[RunDirectory], baselines: Sequence[str], directory: Path) -> list[Path]:
    """Compare runs with each other and with published results, and write all of it into `directory`; the paths.

    `baselines` are names of published results or files of scores, as `--baseline` takes them. Without matplotlib the
    figures are left out: see `can_draw`. Raises `UsageError` for an unknown baseline, `StoreError` for a file that
    cannot be read or written.
    """
    comparison = compare_runs([(run, build_report(run)) for run in runs], find_baselines(baselines))
    return write_comparison(comparison, directory)


def compare_runs(runs: Sequence[tuple[RunDirectory, RunReport]], baselines: Sequence[PublishedScores]) -> Comparison:
    """The comparison of runs, with their reports, and published results."""
    reports = [report for _, report in runs]
    learning = [report.agent for report in reports if report.measures == "learning"]
    if learning:
        raise UsageError(
            f"{listing(learning)}: learning runs have no mean returns to compare; their suite scores them (suite.md)"
        )
    entrants = contestants(reports, [str(run.path) for run, _ in runs], baselines)
    curves = [curve for (run, _), label in zip(runs, labels(reports), strict=True) for curve in curves_of(run, label)]
    return compare(entrants, curves=curves, notes=list(_run_notes(reports)))


def _run_notes(reports: Sequence[RunReport]) -> Iterator[str]:
    """How the runs themselves differ; what the comparison says in its own words is left out."""
    games: dict[str, list[str]] = {}
    for game, note in protocol_notes(reports).items():
        games.setdefault(note, []).append(game)
    yield from (f"{listing(where, 26)}: {note}" for note, where in games.items())
    for note in general_notes(reports):
        if not note.startswith(("aggregates are over", "seeds vary")):
            yield note
    for report, label in zip(reports, labels(reports), strict=True):
        yield from (f"{label}: {note}" for note in report.notes if note != TWO_RUNS)


def write_comparison(comparison: Comparison, directory: Path) -> list[Path]:
    """All files; figures where they can be drawn. Tables come first, and stay where drawing fails."""
    name = directory / "comparison"
    texts = {"json": to_json(comparison), "csv": _csv(comparison), "md": _markdown(comparison, ())}
    paths = write_files(name, {**texts, "tex": _latex(comparison)})
    extras = write_figures(comparison, directory)
    write_files(name, {"md": _markdown(comparison, [path for path in extras if path.suffix == ".png"])})
    return [*paths, *extras]


def write_figures(comparison: Comparison, directory: Path) -> list[Path]:
    """`figures/` where they can be drawn, and `learning_curves.csv` where there are curves; their paths."""
    paths: list[Path] = []
    if comparison.curves:
        paths.append(directory / "learning_curves.csv")
        write_text(paths[-1], _curves_csv(comparison))
    if can_draw():
        from wm_core.reporting.versus.figures import draw

        paths += draw(comparison, directory / "figures")
    return paths


def comparison_tables(comparison: Comparison, agents_per_table: int | None = None) -> list[Table]:
    """All tables, aggregates first."""
    pairs = pairs_table(comparison)
    return [
        aggregates_table(comparison),
        *games_tables(comparison, agents_per_table),
        *([pairs] if pairs is not None else []),
    ]


def _markdown(comparison: Comparison, pictures: Sequence[Path]) -> str:
    first, *rest = comparison_tables(comparison)
    lines = [f"# {escape(first.title)}", "", *table_lines(first)]
    for table in rest:
        lines += ["", f"## {escape(table.title)}", "", *table_lines(table)]
    if pictures:
        lines += ["", "## Figures"]
        for path in pictures:
            name = path.stem.replace("_", " ")
            lines += ["", f"![{name}](figures/{path.name})"]
    lines += ["", "## Sources", "", *(f"- {escape(line)}" for line in _sources(comparison)), ""]
    return "\n".join(lines)


def _latex(comparison: Comparison) -> str:
    tables = comparison_tables(comparison, AGENTS_PER_TABLE)
    return document(tables, "tab:wmbench-comparison", list(_sources(comparison)), [])


def _sources(comparison: Comparison) -> Iterator[str]:
    for each in comparison.contestants:
        kind = {"run": "run directory", "published runs": "runs", "published means": "per-game means"}[each.kind]
        yield f"{each.label}: {kind}, {each.source}"


def _csv(comparison: Comparison) -> str:
    """A row a number, in full."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", restval=None)
    writer.writeheader()
    for each in comparison.contestants:
        for game, runs in each.scores.items():
            writer.writerows({"statistic": "score", "agent": each.label, "game": game, "value": run} for run in runs)
    for statistics in comparison.aggregates:
        for name in ("mean", "median", "iqm", "optimality_gap"):
            interval: Interval | None = getattr(statistics, name)
            if interval is not None:
                writer.writerow({"statistic": name, "agent": statistics.label, **_numbers(interval)})
        if statistics.superhuman is not None:
            value = {"statistic": "superhuman_games", "value": statistics.superhuman}
            writer.writerow({"agent": statistics.label, **value})
    for pair in comparison.pairs:
        who = {"agent": pair.x, "other": pair.y}
        writer.writerow({"statistic": "probability_of_improvement", **who, **_numbers(pair.probability)})
        for name, gap in (("mean_difference", pair.mean), ("iqm_difference", pair.iqm)):
            if gap is not None:
                writer.writerow({"statistic": name, **who, **_numbers(gap)})
    for profile in comparison.profiles:
        for tau, point in zip(comparison.taus, profile.points, strict=True):
            writer.writerow({"statistic": "profile", "agent": profile.label, "tau": tau, **_numbers(point)})
    return text.getvalue()


def _numbers(interval: Interval) -> dict[str, float | str | None]:
    return {"value": interval.point, "lo": interval.lo, "hi": interval.hi, "refused": interval.refused}


def _curves_csv(comparison: Comparison) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CURVE_COLUMNS)
    for curve in comparison.curves:
        for steps, value in zip(curve.env_steps, curve.mean_return, strict=True):
            writer.writerow([curve.label, curve.game, curve.seed, steps, steps * curve.frames_per_step, value])
    return text.getvalue()
