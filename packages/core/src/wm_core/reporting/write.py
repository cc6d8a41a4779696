"""The files of a report: all four forms are made before the first is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wm_core.atomic import write_text
from wm_core.reporting.combined import combine
from wm_core.reporting.csv_report import to_csv
from wm_core.reporting.json_report import to_json
from wm_core.reporting.latex import combined_to_latex, to_latex
from wm_core.reporting.markdown import combined_to_markdown, to_markdown
from wm_core.specs import RunReport


def write_report(report: RunReport, directory: Path) -> list[Path]:
    """Write `benchmark_results.{json,csv,md,tex}` into `directory`; their paths.

    Raises `StoreError` when a file cannot be written or a number of the report is not finite.
    """
    return write_files(
        directory / "benchmark_results",
        {"json": to_json(report), "csv": to_csv([report]), "md": to_markdown(report), "tex": to_latex(report)},
    )


def write_combined(reports: Sequence[RunReport], directory: Path) -> list[Path]:
    """Write `combined_benchmark_results.{json,csv,md,tex}` of several agents into `directory`; their paths.

    Raises `UsageError` when there are no reports, and `StoreError` as `write_report` does.
    """
    return write_files(
        directory / "combined_benchmark_results",
        {
            "json": to_json(combine(reports)),
            "csv": to_csv(reports),
            "md": combined_to_markdown(reports),
            "tex": combined_to_latex(reports),
        },
    )


def write_files(stem: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write `stem.SUFFIX` for each suffix; their paths. The texts are all made before the first is written."""
    paths = []
    for suffix, text in texts.items():
        paths.append(stem.with_name(f"{stem.name}.{suffix}"))
        write_text(paths[-1], text)
    return paths
