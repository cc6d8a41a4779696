"""`benchmark_results.tex`: a document of its own, and a table when it is `\\input` into one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path

from wm_core.atomic import write_text
from wm_core.reporting.combined import combined_tables
from wm_core.reporting.comparison import labels
from wm_core.reporting.facts import all_facts, short_facts
from wm_core.reporting.formatting import NONE, one_line
from wm_core.reporting.json_report import require_finite
from wm_core.reporting.latex_text import escape, mathematics
from wm_core.reporting.layout import Entry, Table
from wm_core.reporting.tables import Row, results_table
from wm_core.specs import RunReport

AGENTS_PER_TABLE = 4
ROWS_PER_TABLE = 40
WIDEST, WIDEST_SMALL = 112, 130
"""Characters that fit beside each other in footnotesize, and in scriptsize."""
_WORD = re.compile(r"[A-Za-z]{2}")

_HEAD = r"""% Compiles as it is, and can be \input into a document that has \usepackage{booktabs} in its preamble.
% Inside a document \@nodocument is \relax; elsewhere this file brings its own preamble.
\expandafter\ifx\csname @nodocument\endcsname\relax
  \def\wmbenchend{}
\else
  \documentclass{article}
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage[margin=1in]{geometry}
  \usepackage{booktabs}
  \pagestyle{empty}
  \begin{document}
  \def\wmbenchend{\end{document}}
\fi"""


def export_latex(result: RunReport | Sequence[RunReport], path: Path) -> None:
    """Write one report, or several beside each other, as LaTeX. `StoreError` when it cannot be written."""
    reports = [result] if isinstance(result, RunReport) else list(result)
    for report in reports:
        require_finite(report.model_dump())
    write_text(path, to_latex(reports[0]) if isinstance(result, RunReport) else combined_to_latex(reports))


def to_latex(report: RunReport) -> str:
    """The report of one agent."""
    label = f"tab:wmbench-{slug(report.agent)}-{report.spec_sha256[:8]}"
    return document([results_table(report)], label, _comments([report]), list(_setup([report])))


def combined_to_latex(reports: Sequence[RunReport]) -> str:
    """The reports of several agents."""
    tables = combined_tables(reports, AGENTS_PER_TABLE)
    return document(tables, "tab:wmbench-combined", _comments(reports), list(_setup(reports)))


def _comments(reports: Sequence[RunReport]) -> list[str]:
    return [f"{name}: {value}" for report in reports for name, value in all_facts(report)]


def document(tables: Sequence[Table], label: str, comments: Sequence[str], setup: Sequence[str]) -> str:
    """Tables as one document: `comments` for who reads the source, `setup` (LaTeX) below the last table."""
    lines = [*(f"% {one_line(comment)}" for comment in comments), _HEAD, ""]
    narrow = [part for table in tables for part in _narrow(table)]
    pages = [(table, page) for table in narrow for page in enumerate(_pages(table))]
    for place, (table, (number, groups)) in enumerate(pages):
        title = f"{table.title}{' (continued)' if number else ''}"
        last = place == len(pages) - 1
        later = {text for following, _ in pages[place + 1 :] for mark, text in following.notes if not mark}
        notes = [*_notes(table, later), *(setup if last else ())]
        lines += [*_float(table, title, groups, f"{label}-{place + 1}" if place else label, notes), ""]
    return "\n".join([*lines, r"\wmbenchend", ""])


def _float(
    table: Table, title: str, groups: Sequence[Sequence[Row]], label: str, notes: Sequence[str]
) -> Iterator[str]:
    yield from (r"\begin{table*}[tbp]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}")
    small = _width(table) > WIDEST
    yield from (rf"\caption{{{escape(f'{title}. {table.caption}')}}}", rf"\label{{{label}}}")
    yield r"\medskip"
    if small:
        yield r"{\scriptsize\setlength{\tabcolsep}{3pt}"
    yield rf"\begin{{tabular}}{{@{{}}{''.join('r' if column.figures else 'l' for column in table.columns)}@{{}}}}"
    yield r"\toprule"
    yield _row([Entry(column.text, column.marks) for column in table.columns])
    for group in groups:
        yield r"\midrule"
        yield from map(_row, group)
    yield from (r"\bottomrule", r"\end{tabular}}" if small else r"\end{tabular}")
    if notes:
        yield from (r"\par\medskip", r"\begin{minipage}{\linewidth}", r"\scriptsize\raggedright")
        yield from (rf"{note}\par" for note in notes)
        yield r"\end{minipage}"
    yield r"\end{table*}"


def _width(table: Table) -> int:
    """Characters of the widest entries of all columns together, with two for each gap."""
    rows = [table.columns, *(row for group in table.groups for row in group)]
    return sum(max(len(row[place].text) for row in rows) + 2 for place in range(len(table.columns)))


def _narrow(table: Table) -> Iterator[Table]:
    """The table, or tables of some of its columns each, the first column in all of them, that fit on a page's width."""
    kept = [0]
    for place in range(1, len(table.columns)):
        if len(kept) > 1 and _width(_columns(table, [*kept, place])) > WIDEST_SMALL:
            yield _columns(table, kept)
            table = replace(table, title=table.title.removesuffix(" (continued)") + " (continued)")
            kept = [0]
        kept.append(place)
    yield _columns(table, kept)


def _columns(table: Table, places: Sequence[int]) -> Table:
    """Some columns of a table, with the notes they need."""
    groups = tuple(tuple(tuple(row[place] for place in places) for row in group) for group in table.groups)
    columns = tuple(table.columns[place] for place in places)
    rows = (columns, *(row for group in groups for row in group))
    used = {mark for row in rows for each in row for mark in each.marks}
    notes = tuple((mark, text) for mark, text in table.notes if not mark or mark in used)
    return replace(table, columns=columns, groups=groups, notes=notes)


def _pages(table: Table) -> Iterator[list[list[Row]]]:
    """The table's groups, cut so that each piece fits on a page."""
    groups: list[list[Row]] = []
    room = ROWS_PER_TABLE
    for group in table.groups:
        rest = list(group)
        while rest:
            groups.append(rest[:room])
            room, rest = room - len(rest[:room]), rest[room:]
            if room == 0:
                yield groups
                groups, room = [], ROWS_PER_TABLE
    if groups:
        yield groups


def _row(entries: Sequence[Entry]) -> str:
    return " & ".join(map(_entry, entries)) + r" \\"


def _entry(entry: Entry) -> str:
    numbers = entry.figures and entry.text != NONE and not _WORD.search(entry.text)
    body = mathematics(entry.text) if numbers else escape(entry.text)
    if entry.bold:
        body = rf"{{\boldmath {body}}}" if numbers else rf"\textbf{{{body}}}"
    if not entry.marks:
        return body
    marks = _marks(entry.marks)
    return rf"{body}\rlap{{{marks}}}" if entry.figures else body + marks


def _marks(marks: Sequence[str]) -> str:
    return rf"\textsuperscript{{{','.join(map(escape, marks))}}}" if marks else ""


def _notes(table: Table, later: Set[str]) -> Iterator[str]:
    """Marked notes, and those on the whole table that no later table repeats."""
    for mark, text in table.notes:
        if mark or text not in later:
            yield f"{_marks((mark,)) + ' ' if mark else ''}{_sentence(text[:1].upper() + text[1:])}"


def _setup(reports: Sequence[RunReport]) -> Iterator[str]:
    """How the agents were measured: each fact once, with the agents of which it is true."""
    found: dict[str, dict[str, list[str]]] = {}
    for label, report in zip(labels(reports), reports, strict=True):
        for name, value in short_facts(report):
            found.setdefault(name, {}).setdefault(value, []).append(label)
    facts = []
    for name, values in found.items():
        said = [
            _sentence(value)
            if len(who) == len(reports)
            else rf"\textbf{{{escape(', '.join(who))}:}} {_sentence(value)}"
            for value, who in values.items()
        ]
        facts.append(rf"\emph{{{name}:}} {' '.join(said)}")
    yield from facts if len(reports) > 1 else [" ".join(facts)]


def _sentence(text: str) -> str:
    return escape(text.rstrip(".")) + "."


def slug(name: str) -> str:
    """A label's part: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "agent"
