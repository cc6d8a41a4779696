"""`benchmark_results.csv`: a row, on one line, for every seed. No time of day, so equal runs give equal files."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from wm_core.reporting.facts import failure_line
from wm_core.reporting.formatting import one_line
from wm_core.reporting.tables import seed_score
from wm_core.specs import Cell, GameResult, RunReport, SeedResult

Value = str | float | int | None

COLUMNS = (
    *("agent", "untrained", "game", "requested", "seed", "episodes_measured", "episodes_planned"),
    *("return_mean", "return_std", "return_min", "return_max", "length_mean", "terminated", "truncated"),
    *("human_normalised", "backend", "protocol", "env", "checkpoint", "checkpoint_sha256", "trained_here"),
    *("preset", "device", "num_envs", "seeds_vary", "version", "versions", "git_commit", "spec_sha256"),
    *("failures", "notes"),
)
"""The columns, in their order."""


def to_csv(reports: Sequence[RunReport]) -> str:
    """All seeds of all reports. Numbers in full; an empty field is a value that does not exist."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for report in reports:
        writer.writerows(_row(report, game, seed) for game in report.games for seed in game.seeds)
    return text.getvalue()


def _row(report: RunReport, game: GameResult, seed: SeedResult) -> dict[str, Value]:
    """One seed and everything that was the same for it."""
    lengths = [length for length in seed.episode_lengths if length is not None]
    given = game.checkpoint if seed.checkpoint_sha256 is None else None
    cell = Cell(agent=report.agent, game=game.env.id, seed=seed.seed)
    values: dict[str, Value] = {
        "agent": report.agent,
        "untrained": str(report.untrained).lower(),
        "game": game.env.id,
        "requested": game.env.requested,
        "seed": seed.seed,
        "episodes_measured": seed.learning.episodes if seed.learning else len(seed.episode_returns),
        "episodes_planned": seed.planned if report.measures == "policy" else None,
        "return_mean": seed.mean,
        "return_std": seed.std,
        "return_min": min(seed.episode_returns, default=None),
        "return_max": max(seed.episode_returns, default=None),
        "length_mean": statistics.fmean(lengths) if lengths else None,
        "terminated": seed.terminated,
        "truncated": seed.truncated,
        "human_normalised": seed_score(game, seed),
        "backend": game.env.backend,
        "protocol": game.env.protocol_label,
        "env": _json(game.env.model_dump(mode="json")),
        "checkpoint": given.path if given else None,
        "checkpoint_sha256": given.sha256 if given else seed.checkpoint_sha256,
        "trained_here": _json(report.trained_here.model_dump()) if report.trained_here else None,
        "preset": report.preset,
        "device": report.device,
        "num_envs": report.num_envs,
        "seeds_vary": report.seeds_vary,
        "version": report.provenance.packages.get("wm-core"),
        "versions": _json({"python": report.provenance.python, **report.provenance.packages}),
        "git_commit": report.provenance.git_commit,
        "spec_sha256": report.spec_sha256,
        "failures": " | ".join(_failures(report, cell)),
        "notes": " | ".join(report.notes),
    }
    return {name: one_line(value) if isinstance(value, str) else value for name, value in values.items()}


def _failures(report: RunReport, cell: Cell) -> Iterator[str]:
    return (failure_line(failure) for failure in report.failures if failure.cell == cell)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
