"""Several agents in one table: games down, agents across, aggregates and coverage below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from wm_core.errors import UsageError
from wm_core.reporting.comparison import environments, general_notes, labels, protocol_notes
from wm_core.reporting.formatting import HNS_DECIMALS, NONE, bounds, decimals_for, estimate, number
from wm_core.reporting.layout import Entry, Notes, Table, figures, words
from wm_core.reporting.learning_table import learning_entry
from wm_core.reporting.tables import (
    EXCLUDED,
    STATISTICS,
    Row,
    absence,
    complete,
    game_coverage,
    interval_method,
    measured_games,
    partial,
    refusal,
    spread,
)
from wm_core.specs import GameResult, Interval, RunReport, Spec


class CombinedReport(Spec):
    """Several agents' reports, as `combined_benchmark_results.json` holds them."""

    format: Literal["wmbench.combined/1"] = "wmbench.combined/1"
    notes: tuple[str, ...] = Field(description="What to know before reading the agents' numbers against each other")
    reports: tuple[RunReport, ...]


def combine(reports: Sequence[RunReport]) -> CombinedReport:
    """The reports with the notes on their comparison; `UsageError` when there are none."""
    if not reports:
        raise UsageError("there are no reports to combine; expected at least one")
    games: dict[str, list[str]] = {}
    for game, note in protocol_notes(reports).items():
        games.setdefault(note, []).append(game)
    protocols = (f"{', '.join(where)}: {note}" for note, where in games.items())
    return CombinedReport(notes=(*protocols, *general_notes(reports)), reports=tuple(reports))


def combined_tables(reports: Sequence[RunReport], agents_per_table: int | None = None) -> list[Table]:
    """The table of all agents, or several of about equally many agents where not all fit."""
    combine(reports)
    parts = 1 if agents_per_table is None else -(-len(reports) // agents_per_table)
    size = -(-len(reports) // parts)
    return [
        _table(reports, slice(start, start + size), f" (part {part} of {parts})" if parts > 1 else "")
        for part, start in enumerate(range(0, len(reports), size), start=1)
    ]


def _table(reports: Sequence[RunReport], shown: slice, part: str) -> Table:
    notes = Notes()
    agents = reports[shown]
    columns = [words("Game")]
    for label, report in zip(labels(reports)[shown], agents, strict=True):
        columns.append(figures(label, *([notes.untrained()] if report.untrained else [])))
    warnings = protocol_notes(reports)
    games = tuple(
        (
            words(game, *([notes.mark(warnings[game])] if game in warnings else [])),
            *_game_entries(game, agents, notes),
        )
        for game in environments(reports)
    )
    coverage = (
        (words("Seeds"), *(figures(str(report.aggregate.num_seeds)) for report in agents)),
        (words("Episodes"), *(figures(str(report.coverage)) for report in agents)),
    )
    groups = (games, *_aggregate_groups(agents, notes), coverage)
    notes.add(general_notes(reports))
    caption = (
        "Return: mean ± sample standard deviation over seeds; no ± with a single seed. "
        f"{'; '.join(dict.fromkeys(interval_method(report.aggregate) for report in agents))}."
    )
    return Table(f"Benchmark results{part}", caption, tuple(columns), groups, notes.all())


def _game_entries(game: str, agents: Sequence[RunReport], notes: Notes) -> Iterator[Entry]:
    results = [next((g for g in report.games if g.env.id == game), None) for report in agents]
    decimals = decimals_for(s.mean for result in results if result is not None for s in result.seeds)
    for result in results:
        yield _game_entry(result, decimals, notes)


def _game_entry(result: GameResult | None, decimals: int, notes: Notes) -> Entry:
    if result is None:
        return figures(NONE, notes.mark("not part of this agent's run"))
    if any(seed.learning is not None for seed in result.seeds):
        return learning_entry(result, notes)
    whole = all(map(complete, result.seeds))
    covered = "" if whole else f" ({game_coverage(result)})"
    if result.aggregate.mean is None:
        return figures(f"{NONE}{covered}", notes.mark("no complete seed"))
    shown = estimate(result.aggregate.mean.point, spread(result.aggregate), decimals)
    return figures(f"{shown}{covered}", *([] if whole else [notes.mark(EXCLUDED)]))


def _aggregate_groups(agents: Sequence[RunReport], notes: Notes) -> Iterator[tuple[Row, ...]]:
    """A group of rows for each scale on which an agent has aggregates; one row of dashes where none has any."""
    scales = {report.aggregate.scale for report in agents if report.aggregate.mean is not None}
    if not scales:
        yield ((words("Aggregate"), *(figures(NONE, notes.mark(absence(report))) for report in agents)),)
    if "return" in scales:
        yield tuple(_aggregate_rows("return", ("mean", "iqm"), agents, notes))
    if "human-normalised" in scales:
        yield (
            *_aggregate_rows("human-normalised", tuple(STATISTICS), agents, notes),
            (words("Superhuman games"), *(_superhuman(report, notes) for report in agents)),
        )


def _aggregate_rows(scale: str, names: Sequence[str], agents: Sequence[RunReport], notes: Notes) -> Iterator[Row]:
    suffix = {"return": " return", "human-normalised": " HNS"}[scale]
    for name in names:
        label = STATISTICS[name] + ("" if name == "optimality_gap" else suffix)
        yield (words(label), *(_aggregate_entry(name, scale, report, notes) for report in agents))


def _aggregate_entry(name: str, scale: str, report: RunReport, notes: Notes) -> Entry:
    reason = _no_aggregate(scale, report)
    interval: Interval | None = getattr(report.aggregate, name)
    if reason is not None or interval is None:
        return figures(NONE, notes.mark(reason or absence(report)))
    decimals = HNS_DECIMALS if scale == "human-normalised" else decimals_for([interval.point])
    why = [text for text in (refusal(interval), partial(report)) if text]
    shown = number(interval.point, decimals)
    if interval.lo is not None:
        shown = f"{shown} {bounds(interval, decimals)}"
    return figures(shown, *map(notes.mark, why))


def _superhuman(report: RunReport, notes: Notes) -> Entry:
    reason = _no_aggregate("human-normalised", report)
    if reason is not None or report.aggregate.superhuman is None:
        return figures(NONE, notes.mark(reason or absence(report)))
    return figures(f"{report.aggregate.superhuman}/{measured_games(report)}")


def _no_aggregate(scale: str, report: RunReport) -> str | None:
    if report.aggregate.mean is None:
        return absence(report)
    if report.aggregate.scale != scale:
        return f"this agent's aggregates are on the scale '{report.aggregate.scale}'"
    return None
