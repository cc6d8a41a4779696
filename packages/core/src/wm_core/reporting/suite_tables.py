"""`suite.{json,csv,md,tex}`: what a learning suite's own scorer says of a run. What is incomplete has no number."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from wm_core.reporting.formatting import NONE, estimate, one_line
from wm_core.reporting.json_report import to_json
from wm_core.reporting.latex import document, slug
from wm_core.reporting.layout import Entry, Notes, Table, figures, words
from wm_core.reporting.markdown import escape, table_lines
from wm_core.reporting.write import write_files
from wm_core.specs import Coverage, Spec, Suite, SuiteScore, SuiteScores
from wm_core.store import RunDirectory

COLUMNS = ("suite", "agent", "group", "seed", "score", "complete", "done", "planned", "tags", "detail")
DECIMALS = 3
COMPLETE_SEEDS = "over the complete seeds alone"


class SuiteReport(Spec):
    """`suite.json`."""

    format: Literal["wmbench.suite/1"] = "wmbench.suite/1"
    suite: str
    paper: str
    agent: str
    spec_sha256: str
    coverage: Coverage = Field(description="Complete groups of planned ones, over all seeds")
    scores: SuiteScores


def write_suite_scores(scores: SuiteScores, suite: Suite, run: RunDirectory) -> list[Path]:
    """Write the tables of a suite's scores into the run directory; their paths. `StoreError` as the other reports."""
    rows = tuple(row if row.complete else row.model_copy(update={"score": None}) for row in scores.rows)
    report = SuiteReport(
        suite=suite.name,
        paper=suite.paper,
        agent=run.spec.agent,
        spec_sha256=run.manifest.spec_sha256,
        coverage=Coverage(measured=sum(row.complete for row in scores.rows), planned=len(scores.rows)),
        scores=scores.model_copy(update={"rows": rows}),
    )
    tables = suite_score_tables(report)
    return write_files(
        run.path / "suite",
        {"json": to_json(report), "csv": _csv(report), "md": _markdown(report, tables), "tex": _latex(report, tables)},
    )


def suite_score_tables(report: SuiteReport) -> list[Table]:
    """By group, by tag where groups have tags, and every seed where there are several."""
    tables = [_groups_table(report)]
    if any(row.tags for row in report.scores.rows):
        tables.append(_tags_table(report))
    if len({row.seed for row in report.scores.rows}) > 1:
        tables.append(_seeds_table(report))
    return tables


def _groups_table(report: SuiteReport) -> Table:
    notes = Notes()
    seeds = len({row.seed for row in report.scores.rows})
    spread = "mean ± sample standard deviation over seeds" if seeds > 1 else "of the one seed"
    rows = tuple(
        (
            words(group),
            words(", ".join(rows[0].tags) or NONE),
            figures(f"{sum(row.complete for row in rows)}/{len(rows)}"),
            figures(f"{sum(row.done for row in rows)}/{sum(row.planned for row in rows)}"),
            _score(rows, notes),
        )
        for group, rows in _by_group(report.scores.rows).items()
    )
    notes.add(report.scores.notes)
    return Table(
        f"{report.suite}: {report.agent}",
        f"Score: {spread}, of seeds that are complete. Seeds: complete of planned. Runs: learning runs with all that "
        f"the score needs, of those planned. Complete in all: {report.coverage}.",
        (words("Experiment"), words("Tags"), figures("Seeds"), figures("Runs"), figures("Score")),
        (rows,),
        notes.all(),
    )


def _score(rows: Sequence[SuiteScore], notes: Notes) -> Entry:
    whole = [row.score for row in rows if row.complete and row.score is not None]
    if not whole:
        done, planned = sum(row.done for row in rows), sum(row.planned for row in rows)
        return figures(f"incomplete {done}/{planned}", *_details(rows, notes))
    spread = statistics.stdev(whole) if len(whole) > 1 else None
    left_out = () if len(whole) == len(rows) else (notes.mark(COMPLETE_SEEDS),)
    return figures(estimate(statistics.fmean(whole), spread, DECIMALS), *left_out, *_details(rows, notes))


def _details(rows: Sequence[SuiteScore], notes: Notes) -> Iterator[str]:
    return (notes.mark(detail) for detail in dict.fromkeys(row.detail for row in rows if row.detail))


def _tags_table(report: SuiteReport) -> Table:
    """The mean over a tag's groups, of seeds in which all of them are complete."""
    notes = Notes()
    tags = dict.fromkeys(tag for row in report.scores.rows for tag in row.tags)
    rows = []
    for tag in tags:
        of_tag = [row for row in report.scores.rows if tag in row.tags]
        groups = _by_group(of_tag)
        means = list(tag_means(of_tag).values())
        whole = sum(all(row.complete for row in rows_of) for rows_of in groups.values())
        spread = statistics.stdev(means) if len(means) > 1 else None
        shown = estimate(statistics.fmean(means), spread, DECIMALS) if means else f"incomplete {whole}/{len(groups)}"
        some = 0 < len(means) < len({row.seed for row in of_tag})
        marks = (notes.mark(COMPLETE_SEEDS),) if some else ()
        rows.append((words(tag), figures(f"{whole}/{len(groups)}"), figures(shown, *marks)))
    return Table(
        f"{report.suite} by tag: {report.agent}",
        "Score: mean over the experiments of a tag, in seeds in which all of those in the run are complete. "
        "Experiments: complete in every seed, of those in the run. An experiment may have several tags.",
        (words("Tag"), figures("Experiments"), figures("Score")),
        (tuple(rows),),
        notes.all(),
    )


def tag_means(rows: Sequence[SuiteScore]) -> dict[int, float]:
    """By seed: the mean score of one tag's rows, where all of them are complete."""
    seeds: dict[int, list[SuiteScore]] = {}
    for row in rows:
        seeds.setdefault(row.seed, []).append(row)
    return {
        seed: statistics.fmean(row.score for row in of_seed if row.score is not None)
        for seed, of_seed in seeds.items()
        if all(row.complete and row.score is not None for row in of_seed)
    }


def _seeds_table(report: SuiteReport) -> Table:
    notes = Notes()
    groups = tuple(
        tuple(
            (words(row.group), words(str(row.seed)), figures(f"{row.done}/{row.planned}"), _score([row], notes))
            for row in rows
        )
        for rows in _by_group(report.scores.rows).values()
    )
    columns = (words("Experiment"), words("Seed"), figures("Runs"), figures("Score"))
    return Table(
        f"{report.suite}, every seed: {report.agent}",
        "Score and runs: as in the first table.",
        columns,
        groups,
        notes.all(),
    )


def _by_group(rows: Sequence[SuiteScore]) -> Mapping[str, list[SuiteScore]]:
    found: dict[str, list[SuiteScore]] = {}
    for row in rows:
        found.setdefault(row.group, []).append(row)
    return found


def _csv(report: SuiteReport) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in report.scores.rows:
        writer.writerow(
            {
                "suite": report.suite,
                "agent": report.agent,
                "group": row.group,
                "seed": row.seed,
                "score": row.score,
                "complete": str(row.complete).lower(),
                "done": row.done,
                "planned": row.planned,
                "tags": " ".join(row.tags),
                "detail": one_line(row.detail),
            }
        )
    return text.getvalue()


def _markdown(report: SuiteReport, tables: Sequence[Table]) -> str:
    first, *others = tables
    lines = [f"# {escape(first.title)}", "", *table_lines(first)]
    for table in others:
        lines += ["", f"## {escape(table.title)}", "", *table_lines(table)]
    about = [f"Specification: SHA-256 {report.spec_sha256}"]
    if report.paper:
        about.append(f"Described in {report.paper}")
    return "\n".join([*lines, "", *(f"- {escape(line)}" for line in about), ""])


def _latex(report: SuiteReport, tables: Sequence[Table]) -> str:
    comments = [f"{report.suite}: {report.agent}", f"Specification: SHA-256 {report.spec_sha256}"]
    return document(tables, f"tab:wmbench-{slug(report.suite)}-{slug(report.agent)}", comments, [])
