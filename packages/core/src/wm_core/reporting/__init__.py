"""Reports: the same results as JSON, CSV, Markdown and LaTeX, and in the terminal (`wm_core.reporting.console`)."""

from __future__ import annotations

from wm_core.reporting.json_report import read_report, report_schema
from wm_core.reporting.latex import export_latex
from wm_core.reporting.write import write_combined, write_report

__all__ = ["export_latex", "read_report", "report_schema", "write_combined", "write_report"]
