"""The tables of one agent: its results, and every seed on its own."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

from wm_core.metrics import human_normalise
from wm_core.metrics.baselines import has_baselines
from wm_core.reporting.formatting import HNS_DECIMALS, NONE, bounds, decimals_for, estimate, listing, number, percent
from wm_core.reporting.layout import Entry, Notes, Table, figures, words
from wm_core.reporting.learning_table import learning_table
from wm_core.specs import Aggregate, GameResult, Interval, RunReport, SeedResult

Row = tuple[Entry, ...]

EXCLUDED = "not all planned episodes were measured; such a seed is left out of every statistic over seeds"
STATISTICS = {"mean": "Mean", "median": "Median", "iqm": "IQM", "optimality_gap": "Optimality gap"}


def results_table(report: RunReport) -> Table:
    """The table of a report: the seeds of a single game, or the games, and the aggregates below."""
    if report.measures == "learning":
        return learning_table(report, title(report))
    return _one_game(report) if len(report.games) == 1 else _several_games(report)


def seeds_table(report: RunReport) -> Table:
    """Every seed of every game."""
    notes = Notes()
    columns = (words("Game"), *_SEED_COLUMNS)
    groups = tuple(tuple((words(game.env.id), *row) for row in _seed_rows(game, notes)) for game in report.games)
    table = Table(f"{report.agent}: every seed", _SEED_CAPTION, columns, groups, notes.all())
    return _scored(report, table)


def title(report: RunReport) -> str:
    """`iris on ALE/Pong-v5`, and that it is untrained where it is."""
    where = report.games[0].env.id if len(report.games) == 1 else f"{len(report.games)} games"
    return f"{report.agent}{' (untrained)' if report.untrained else ''} on {where}"


def complete(seed: SeedResult) -> bool:
    """Whether everything planned was measured."""
    return seed.complete


def seed_score(game: GameResult, seed: SeedResult) -> float | None:
    """Human-normalised score of a seed; None where it is incomplete or the game has no baselines."""
    if seed.mean is None or not complete(seed) or not has_baselines(game.env):
        return None
    return float(human_normalise(game.env.id, [seed.mean])[0])


def spread(aggregate: Aggregate) -> float | None:
    """Sample standard deviation of the complete seeds' means; None below two."""
    means = [mean for mean in aggregate.per_seed_means if mean is not None]
    return statistics.stdev(means) if len(means) > 1 else None


def game_coverage(game: GameResult) -> str:
    """`480/500`."""
    return f"{sum(len(s.episode_returns) for s in game.seeds)}/{sum(s.planned for s in game.seeds)}"


def game_decimals(game: GameResult) -> int:
    """Decimals that suit this game's returns."""
    return decimals_for([value for seed in game.seeds for value in (seed.mean, seed.std)])


def interval_method(aggregate: Aggregate) -> str:
    """Level and method of the intervals."""
    return (
        f"Intervals: {percent(aggregate.level)} percentile bootstrap over seeds, stratified by game, "
        f"{aggregate.resamples} resamples"
    )


def absence(report: RunReport) -> str:
    """Why there is no aggregate over the games."""
    if report.aggregate.scale == "return" and len(report.games) > 1:
        return "returns of different games are not averaged, and not all of these games have human baselines"
    missing = [game.env.id for game in report.games if all(m is None for m in game.aggregate.per_seed_means)]
    return f"no complete seed of {listing(missing)}" if missing else "not computed"


def partial(report: RunReport) -> str | None:
    """That an aggregate leaves runs out, and how many."""
    runs = [mean for game in report.games for mean in game.aggregate.per_seed_means]
    missing = sum(mean is None for mean in runs)
    if not missing:
        return None
    there, games = measured_games(report), len(report.games)
    where = f", which leaves out {games - there} of {games} games" if there < games else ""
    return f"over the {len(runs) - missing} of {len(runs)} runs that are complete{where}"


def measured_games(report: RunReport) -> int:
    """The number of games with a complete seed."""
    return sum(any(mean is not None for mean in game.aggregate.per_seed_means) for game in report.games)


def refusal(interval: Interval) -> str | None:
    """Why there is no interval, or None where there is one."""
    if interval.lo is not None and interval.hi is not None:
        return None
    return f"no interval: {interval.refused or 'no reason was recorded'}"


_SEED_COLUMNS = (
    words("Seed"),
    figures("Episodes"),
    figures("Return"),
    figures("Min"),
    figures("Max"),
    figures("Term."),
    figures("Trunc."),
    figures("HNS"),
)
_SEED_CAPTION = (
    "Return: mean ± sample standard deviation over the episodes of a seed. Term., Trunc.: episodes that the "
    "environment ended, or a time limit."
)
_HNS_CAPTION = (
    "HNS: human-normalised score, (score - random) / (human - random). Optimality gap: mean shortfall from HNS 1. "
    "Superhuman games: with HNS of 1 or more. Intervals are of the return beside a game, of the HNS below."
)
_HNS_CAPTION_ONE_GAME = "HNS: human-normalised score, (score - random) / (human - random)."


def _scored(report: RunReport, table: Table) -> Table:
    """The table without its last column, HNS, where no game has human baselines; otherwise with HNS explained."""
    if any(has_baselines(game.env) for game in report.games):
        explained = _HNS_CAPTION_ONE_GAME if len(report.games) == 1 else _HNS_CAPTION
        return replace(table, caption=f"{table.caption} {explained}")
    groups = tuple(tuple(row[:-1] for row in group) for group in table.groups)
    return replace(table, columns=table.columns[:-1], groups=groups)


def _seed_rows(game: GameResult, notes: Notes) -> tuple[Row, ...]:
    decimals = game_decimals(game)
    return tuple(_seed_row(game, seed, decimals, notes) for seed in game.seeds)


def _seed_row(game: GameResult, seed: SeedResult, decimals: int, notes: Notes) -> Row:
    marks = () if complete(seed) else (notes.mark(EXCLUDED),)
    return (
        words(str(seed.seed)),
        figures(f"{len(seed.episode_returns)}/{seed.planned}", *marks),
        figures(estimate(seed.mean, seed.std, decimals)),
        figures(number(min(seed.episode_returns, default=None), decimals)),
        figures(number(max(seed.episode_returns, default=None), decimals)),
        figures(_count(seed.terminated)),
        figures(_count(seed.truncated)),
        figures(number(seed_score(game, seed), HNS_DECIMALS)),
    )


def _count(episodes: int | None) -> str:
    return NONE if episodes is None else str(episodes)


def _one_game(report: RunReport) -> Table:
    (game,) = report.games
    notes = Notes()
    marks = (notes.untrained(),) if report.untrained else ()
    seeds = _seed_rows(game, notes)
    aggregates = tuple(_one_game_aggregates(report, game, notes, marks))
    caption = f"{_SEED_CAPTION} Mean, IQM: over seeds. {interval_method(report.aggregate)}."
    return _scored(report, Table(title(report), caption, _SEED_COLUMNS, (seeds, aggregates), notes.all()))


def _one_game_aggregates(report: RunReport, game: GameResult, notes: Notes, marks: tuple[str, ...]) -> Iterator[Row]:
    """The mean and the interquartile mean over seeds. The median over games is the mean on one game: left out."""
    decimals, blank = game_decimals(game), words("")
    left_out = partial(report)
    for name in ("mean", "iqm"):
        interval: Interval | None = getattr(report.aggregate, name)
        label = words(STATISTICS[name], *marks)
        if interval is None:
            reason = notes.mark(absence(report))
            yield (label, blank, figures(NONE, reason), *[blank] * 5)
            continue
        why = [text for text in (refusal(interval), left_out) if text]
        text = number(interval.point, decimals)
        if interval.lo is not None:
            text = f"{text} {bounds(interval, decimals)}"
        score = number(game.human_normalised, HNS_DECIMALS) if name == "mean" else ""
        yield (label, blank, figures(text, *map(notes.mark, why)), *[blank] * 4, figures(score))


def _several_games(report: RunReport) -> Table:
    notes = Notes()
    marks = (notes.untrained(),) if report.untrained else ()
    single = report.aggregate.num_seeds == 1
    over = "the episodes of its single seed" if single else "seeds"
    columns = (
        words("Game", *marks),
        figures("Episodes"),
        figures("Return"),
        figures("Interval"),
        figures("HNS"),
    )
    caption = f"Return: mean ± sample standard deviation over {over}. {interval_method(report.aggregate)}."
    games = tuple(_game_row(game, single, notes) for game in report.games)
    table = Table(title(report), caption, columns, (games, tuple(_aggregate_rows(report, notes))), notes.all())
    return _scored(report, table)


def _game_row(game: GameResult, single: bool, notes: Notes) -> Row:
    decimals, mean = game_decimals(game), game.aggregate.mean
    missing = (notes.mark(EXCLUDED),) if not all(map(complete, game.seeds)) else ()
    std = game.seeds[0].std if single else spread(game.aggregate)
    if mean is None:
        why = notes.mark("no complete seed")
        shown = (figures(NONE, why), figures(NONE))
    else:
        reason = refusal(mean)
        shown = (
            figures(estimate(mean.point, std, decimals)),
            figures(bounds(mean, decimals), *([notes.mark(reason.replace(game.env.id, "the game"))] if reason else [])),
        )
    return (
        words(game.env.id),
        figures(game_coverage(game), *missing),
        *shown,
        figures(number(game.human_normalised, HNS_DECIMALS)),
    )


def _aggregate_rows(report: RunReport, notes: Notes) -> Iterator[Row]:
    aggregate, blank = report.aggregate, words("")
    if aggregate.mean is None:
        yield (words("Aggregate", notes.mark(absence(report))), blank, blank, figures(NONE), figures(NONE))
        return
    left_out = partial(report)
    marks = (notes.mark(left_out),) if left_out else ()
    for name, label in STATISTICS.items():
        interval: Interval | None = getattr(aggregate, name)
        if interval is None:
            continue
        reason = refusal(interval)
        shown = figures(bounds(interval, HNS_DECIMALS), *([notes.mark(reason)] if reason else []))
        yield (words(label, *marks), blank, blank, shown, figures(number(interval.point, HNS_DECIMALS)))
    if aggregate.superhuman is not None:
        count = figures(f"{aggregate.superhuman}/{measured_games(report)}")
        yield (words("Superhuman games", *marks), blank, blank, blank, count)
