"""`benchmark_results.md`: the tables, and how they were measured, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wm_core.reporting.combined import combined_tables
from wm_core.reporting.facts import all_facts, failure_line
from wm_core.reporting.formatting import one_line
from wm_core.reporting.layout import DAGGER, Entry, Table
from wm_core.reporting.tables import results_table, seeds_table, title
from wm_core.specs import RunReport

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#~$!&@]")


def escape(text: str) -> str:
    """`text` on one line, shown as it is in running text and in a table.

    A bar becomes an entity, which no reader of tables takes for the end of a column.
    """
    return _SPECIAL.sub(r"\\\g<0>", one_line(text)).replace("|", "&#124;")


def to_markdown(report: RunReport) -> str:
    """The report of one agent."""
    lines = [f"# {escape(title(report))}", "", *table_lines(results_table(report))]
    if len(report.games) > 1 and report.measures == "policy":
        lines += ["", "## Seeds", "", *table_lines(seeds_table(report))]
    return "\n".join([*lines, "", "## How it was measured", "", *_facts(report), ""])


def combined_to_markdown(reports: Sequence[RunReport]) -> str:
    """The reports of several agents, beside each other and then one by one."""
    (table,) = combined_tables(reports)
    lines = [f"# Benchmark results: {escape(', '.join(report.agent for report in reports))}", "", *table_lines(table)]
    for report in reports:
        lines += ["", f"## {escape(title(report))}", "", *_facts(report)]
    return "\n".join([*lines, ""])


def table_lines(table: Table) -> Iterator[str]:
    """A table, its caption and its notes, line by line."""
    yield _row(table.columns)
    yield "|" + "|".join(" ---: " if column.figures else " :--- " for column in table.columns) + "|"
    for group in table.groups:
        for row in group:
            yield _row(row)
    yield ""
    yield escape(table.caption)
    if table.notes:
        yield ""
    for mark, text in table.notes:
        yield f"- {_marks((mark,)) + ' ' if mark else ''}{escape(text)}"


def _row(entries: Sequence[Entry]) -> str:
    return "| " + " | ".join(map(_entry, entries)) + " |"


def _entry(entry: Entry) -> str:
    text = f"**{escape(entry.text)}**" if entry.bold else escape(entry.text)
    return text + _marks(entry.marks)


def _marks(marks: Sequence[str]) -> str:
    if not marks:
        return ""
    return marks[0] if tuple(marks) == (DAGGER,) else f"<sup>{','.join(marks)}</sup>"


def _facts(report: RunReport) -> Iterator[str]:
    yield from (f"- {label}: {escape(value)}" for label, value in all_facts(report))
    if report.failures:
        yield from ("", "Failed:", "", *(f"- {escape(failure_line(failure))}" for failure in report.failures))
    yield from ("", "<details><summary>The environments in full</summary>", "", "```json")
    yield from (game.env.model_dump_json() for game in report.games)
    yield from ("```", "", "</details>")
