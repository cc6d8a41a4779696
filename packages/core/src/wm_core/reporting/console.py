"""The terminal's tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from wm_core.reporting.combined import combined_tables
from wm_core.reporting.facts import coverage, environment_lines
from wm_core.reporting.formatting import one_line
from wm_core.reporting.layout import DAGGER, Entry, Table
from wm_core.reporting.tables import results_table
from wm_core.specs import RunReport


def render_table(report: RunReport) -> RichTable:
    """The results of one agent, with its coverage and its environments below."""
    below = [f"Coverage: {coverage(report)}", *environment_lines(report.games), *report.notes]
    return render(results_table(report), below)


def render_combined(reports: Sequence[RunReport]) -> RichTable:
    """The results of several agents beside each other."""
    (table,) = combined_tables(reports)
    return render(table)


def render(table: Table, below: Sequence[str] = ()) -> RichTable:
    """Any table, with lines below it."""
    notes = [f"{f'{mark} ' if mark else ''}{text}" for mark, text in table.notes]
    rendered = RichTable(
        title=Text(one_line(table.title), style="bold"),
        caption=Text("\n".join(map(one_line, [table.caption, *notes, *below])), justify="left"),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    for column, width in zip(table.columns, _widths(table), strict=True):
        rendered.add_column(_text(column), justify="right" if column.figures else "left", overflow="fold", width=width)
    for group in table.groups:
        for row in group:
            rendered.add_row(*map(_text, row))
        rendered.add_section()
    return rendered


def _widths(table: Table) -> list[int | None]:
    """The width of each column that breaks no word, where the terminal has room for these; otherwise None for all."""
    rows = [table.columns, *(row for group in table.groups for row in group)]
    texts = [[_text(row[place]).plain for row in rows] for place in range(len(table.columns))]
    words = [max(len(word) for text in column for word in ["", *text.split()]) for column in texts]
    whole = [max(map(len, column)) for column in texts]
    room = Console().width - 2 * len(words)
    return [*words] if sum(words) <= room < sum(whole) else [None] * len(words)


def _text(entry: Entry) -> Text:
    text = Text(one_line(entry.text), style="bold" if entry.bold else "")
    if entry.marks:
        text.append(DAGGER if entry.marks == (DAGGER,) else f" ({','.join(entry.marks)})")
    return text
