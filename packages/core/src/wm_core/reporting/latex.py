"""`benchmark_results.tex`: a document of its own, and a table when it is `\\input` into one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    return _document([results_table(report)], [report], f"tab:wmbench-{_slug(report.agent)}-{report.spec_sha256[:8]}")


def combined_to_latex(reports: Sequence[RunReport]) -> str:
    """The reports of several agents."""
    return _document(combined_tables(reports, AGENTS_PER_TABLE), reports, "tab:wmbench-combined")


def _document(tables: Sequence[Table], reports: Sequence[RunReport], label: str) -> str:
    lines = [f"% {one_line(f'{name}: {value}')}" for report in reports for name, value in all_facts(report)]
    lines += [_HEAD, ""]
    pages = [(table, page) for table in tables for page in enumerate(_pages(table))]
    for place, (table, (number, groups)) in enumerate(pages):
        title = f"{table.title}{' (continued)' if number else ''}"
        last = place == len(pages) - 1
        notes = [*_notes(table, general=last), *(_setup(reports) if last else ())]
        lines += [*_float(table, title, groups, f"{label}-{place + 1}" if place else label, notes), ""]
    return "\n".join([*lines, r"\wmbenchend", ""])


def _float(
    table: Table, title: str, groups: Sequence[Sequence[Row]], label: str, notes: Sequence[str]
) -> Iterator[str]:
    yield from (r"\begin{table*}[tbp]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}")
    yield from (rf"\caption{{{escape(f'{title}. {table.caption}')}}}", rf"\label{{{label}}}")
    yield r"\medskip"
    yield rf"\begin{{tabular}}{{@{{}}{''.join('r' if column.figures else 'l' for column in table.columns)}@{{}}}}"
    yield r"\toprule"
    yield _row([Entry(column.text, column.marks) for column in table.columns])
    for group in groups:
        yield r"\midrule"
        yield from map(_row, group)
    yield from (r"\bottomrule", r"\end{tabular}")
    if notes:
        yield from (r"\par\medskip", r"\begin{minipage}{\linewidth}", r"\scriptsize\raggedright")
        yield from (rf"{note}\par" for note in notes)
        yield r"\end{minipage}"
    yield r"\end{table*}"


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
    body = mathematics(entry.text) if entry.figures and entry.text != NONE else escape(entry.text)
    if not entry.marks:
        return body
    marks = _marks(entry.marks)
    return rf"{body}\rlap{{{marks}}}" if entry.figures else body + marks


def _marks(marks: Sequence[str]) -> str:
    return rf"\textsuperscript{{{','.join(map(escape, marks))}}}" if marks else ""


def _notes(table: Table, *, general: bool) -> Iterator[str]:
    for mark, text in table.notes:
        if mark or general:
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


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "agent"
