"""The tables of a comparison: aggregates, games, pairs."""

from __future__ import annotations

from collections.abc import Sequence

from wm_core.reporting.formatting import HNS_DECIMALS, NONE, bounds, decimals_for, estimate, number, percent
from wm_core.reporting.layout import Entry, Notes, Table, figures, words
from wm_core.reporting.versus.contestants import MEANS, Contestant
from wm_core.reporting.versus.model import Aggregates, Comparison, GameScores, Pair
from wm_core.specs import Interval

STATISTICS = {"mean": "Mean", "median": "Median", "iqm": "IQM", "optimality_gap": "Optimality gap"}
_OVER_RUNS = "over runs, of which only per-game means are published"


def aggregates_table(comparison: Comparison) -> Table:
    """A row a contestant: coverage, and its statistics over the common games."""
    notes = Notes()
    normalised = comparison.scale == "human-normalised"
    names = [name for name in STATISTICS if normalised or name in ("mean", "iqm")]
    ours = any(each.coverage is not None for each in comparison.contestants)
    columns = [words("Agent"), figures("Games"), figures("Runs"), *([figures("Episodes")] if ours else [])]
    columns += [figures(STATISTICS[name]) for name in names]
    columns += [figures("HNS ≥ 1")] if normalised else []
    rows = []
    for each, statistics in zip(comparison.contestants, comparison.aggregates, strict=True):
        row = [
            words(each.label, *([notes.untrained()] if each.untrained else [])),
            figures(f"{len(comparison.games)}/{len(each.planned_runs)}"),
            figures("means" if each.mean_only else f"{statistics.runs}/{statistics.planned_runs}"),
            *([figures(str(each.coverage or NONE))] if ours else []),
            *(_statistic(name, statistics, each, comparison, notes) for name in names),
        ]
        if normalised:
            row.append(figures(f"{statistics.superhuman}/{len(comparison.games)}"))
        rows.append(tuple(row))
    notes.add(comparison.notes)
    return Table(_title(comparison), _aggregates_caption(comparison), tuple(columns), (tuple(rows),), notes.all())


def _statistic(name: str, statistics: Aggregates, each: Contestant, comparison: Comparison, notes: Notes) -> Entry:
    interval: Interval | None = getattr(statistics, name)
    decimals = _decimals(comparison, name)
    if interval is None:
        return figures(NONE, notes.mark(_OVER_RUNS if each.mean_only else _unmixed(comparison)))
    return _interval_entry(interval, decimals, notes)


def _interval_entry(interval: Interval, decimals: int, notes: Notes, *, sign: bool = False) -> Entry:
    point = number(interval.point, decimals)
    if sign and interval.point > 0:
        point = f"+{point}"
    if interval.lo is None:
        why = MEANS if interval.refused and MEANS in interval.refused else interval.refused or "no reason was recorded"
        return figures(point, notes.mark(f"no interval: {why}"))
    return figures(f"{point} {bounds(interval, decimals)}")


def _unmixed(comparison: Comparison) -> str:
    if not comparison.games:
        return "there is no game of which everyone has a complete run"
    return "raw scores of different games do not mix, and not all of these games have human scores"


def _decimals(comparison: Comparison, name: str) -> int:
    if comparison.scale == "human-normalised":
        return HNS_DECIMALS
    points = (getattr(each, name) for each in comparison.aggregates)
    return decimals_for(interval.point for interval in points if interval is not None)


def _title(comparison: Comparison) -> str:
    labels = [each.label for each in comparison.contestants]
    named = ", ".join(labels) if len(labels) <= 4 else f"{len(labels)} agents"
    return f"Comparison of {named}"


def _aggregates_caption(comparison: Comparison) -> str:
    count = len(comparison.games)
    over = {0: "no game", 1: comparison.games[0] if comparison.games else ""}.get(count, f"{count} games")
    normalised = comparison.scale == "human-normalised"
    scale = {
        "human-normalised": f"Human-normalised scores (HNS) over {over}",
        "return": f"Mean scores in {over}",
        "none": f"No statistics over {over}",
    }[comparison.scale]
    superhuman = " HNS ≥ 1: games with a mean score of 1 or more." if normalised else ""
    return (
        f"{scale}, of which everyone has complete runs. Games: in the statistics, of those the agent has or planned. "
        f"Runs, episodes: complete of planned.{superhuman} "
        f"Brackets: {percent(comparison.level)} percentile bootstrap over runs, stratified by game, "
        f"{comparison.resamples} resamples."
    )


def games_tables(comparison: Comparison, agents_per_table: int | None = None) -> list[Table]:
    """Games down, contestants across, the best agent of each game in bold; cut where not all fit."""
    everyone = comparison.contestants
    parts = 1 if agents_per_table is None else -(-len(everyone) // agents_per_table)
    size = -(-len(everyone) // parts)
    return [
        _games_table(comparison, everyone[start : start + size], f" (part {part} of {parts})" if parts > 1 else "")
        for part, start in enumerate(range(0, len(everyone), size), start=1)
    ]


def _games_table(comparison: Comparison, shown: Sequence[Contestant], part: str) -> Table:
    notes = Notes()
    columns = [words("Game")]
    columns += [figures(each.label, *([notes.untrained()] if each.untrained else [])) for each in shown]
    common = tuple(_game_row(row, shown, notes) for row in comparison.table if row.game in comparison.games)
    rest = tuple(_game_row(row, shown, notes) for row in comparison.table if row.game not in comparison.games)
    best = [
        figures(str(sum(each.label in row.best for row in comparison.table)) if not each.reference else NONE)
        for each in shown
    ]
    totals = ((words("Best in"), *best),) if any(row.best for row in comparison.table) else ()
    caption = (
        "Mean raw score ± sample standard deviation over runs; the mean alone where there is one run or only a mean is "
        "published. Bold: the highest mean of all agents, whatever its interval; random and human players aside."
    )
    if rest and common:
        caption += " Below the rule: games that not everyone has, in no aggregate."
    groups = tuple(group for group in (common, rest, totals) if group)
    return Table(f"Scores of each game{part}", caption, tuple(columns), groups, notes.all())


def _game_row(row: GameScores, shown: Sequence[Contestant], notes: Notes) -> tuple[Entry, ...]:
    decimals = decimals_for(row.means.values())
    entries = []
    for each in shown:
        if each.label not in row.means:
            entries.append(figures(NONE))
            continue
        scores, planned = len(each.scores[row.game]), each.planned_runs[row.game]
        marks = () if scores == planned else (notes.mark("some of the planned runs are not complete and left out"),)
        text = estimate(row.means[each.label], row.stds.get(each.label), decimals)
        entries.append(figures(text, *marks, bold=each.label in row.best))
    return (words(row.game), *entries)


def pairs_table(comparison: Comparison) -> Table | None:
    """A row a pair; None where there is none."""
    if not comparison.pairs:
        return None
    notes = Notes()
    rows = tuple(_pair_row(pair, notes) for pair in comparison.pairs)
    return Table(
        "Probability of improvement",
        "P(X > Y): the share of pairs of a run of X and a run of Y that X wins, a tie counting one half, averaged over "
        "the games that both have. Differences: X minus Y, human-normalised over several games. "
        f"Brackets: {percent(comparison.level)} bootstrap of the runs of both.",
        (
            words("X"),
            words("Y"),
            figures("Games"),
            figures("P(X > Y)"),
            figures("Difference of means"),
            figures("Difference of IQM"),
        ),
        (rows,),
        notes.all(),
    )


def _pair_row(pair: Pair, notes: Notes) -> tuple[Entry, ...]:
    differences = []
    for interval in (pair.mean, pair.iqm):
        if interval is None:
            over_runs = pair.scale != "none"
            why = _OVER_RUNS if over_runs else "scores of these games do not mix: not all have human scores"
            differences.append(figures(NONE, notes.mark(why)))
        else:
            decimals = HNS_DECIMALS if pair.scale == "human-normalised" else decimals_for([interval.point])
            differences.append(_interval_entry(interval, decimals, notes, sign=True))
    probability = _interval_entry(pair.probability, HNS_DECIMALS, notes)
    return (words(pair.x), words(pair.y), figures(str(len(pair.games))), probability, *differences)
