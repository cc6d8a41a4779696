"""Scores by a suite's own rules, from the store of its run alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from wm_core import registry
from wm_core.errors import PluginError
from wm_core.reporting.suite_tables import write_suite_scores
from wm_core.reporting.versus.write import NO_FIGURES, can_draw
from wm_core.specs import Suite, SuiteScores
from wm_core.store import RunDirectory
from wm_core.suites.planning import load_suite

FIGURES = "figures"


@dataclass(frozen=True)
class Scored:
    """What was scored, and what was written of it."""

    suite: Suite
    scores: SuiteScores
    files: list[Path]
    remarks: list[str] = field(default_factory=list)
    """What could not be written, and how to get it."""


def write_scores(run: RunDirectory) -> Scored | None:
    """Score a run and write `suite.*` and its figures into the run directory; None where its suite has no scorer.

    Raises `PluginError` when the suite is not installed, or its scorer does not return `SuiteScores`.
    """
    if run.spec.suite is None:
        return None
    for reference in run.spec.plugins:
        registry.load_file(reference)
    suite = load_suite(run.spec.suite)
    if suite.scorer is None:
        return None
    scores = registry.load_class(suite.scorer, f"the scorer of {suite.name}")(run)
    if not isinstance(scores, SuiteScores):
        raise PluginError(f"{suite.scorer} returned {type(scores).__name__}; expected wm_core.specs.SuiteScores")
    files, remarks = list(write_suite_scores(scores, suite, run)), []
    if suite.figures is not None:
        if not can_draw():
            remarks.append(NO_FIGURES)
        else:
            directory = run.path / FIGURES
            directory.mkdir(exist_ok=True)
            files += registry.load_class(suite.figures, f"the figures of {suite.name}")(scores, directory)
    return Scored(suite, scores, files, remarks)
