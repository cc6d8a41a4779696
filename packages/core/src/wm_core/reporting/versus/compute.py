"""From contestants to their comparison."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from wm_core.errors import UsageError
from wm_core.metrics import (
    aggregate,
    difference,
    human_normalise,
    performance_profile,
    probability_of_improvement,
    superhuman_count,
)
from wm_core.metrics.baselines import ATARI_100K, canonical_name
from wm_core.metrics.bootstrap import LEVEL, NUM_SAMPLES
from wm_core.reporting.formatting import listing
from wm_core.reporting.versus.contestants import MEANS, Contestant
from wm_core.reporting.versus.model import Aggregates, Comparison, Curve, GameScores, Pair, Profile, Scale
from wm_core.specs import Interval

TAUS = tuple(round(0.05 * step, 2) for step in range(161))
"""0 to 8: the range of human-normalised scores in which agents of the Atari 100k benchmark differ."""


def compare(
    entrants: Sequence[Contestant],
    *,
    curves: Sequence[Curve] = (),
    notes: Sequence[str] = (),
    num_samples: int = NUM_SAMPLES,
    level: float = LEVEL,
) -> Comparison:
    """The comparison over the games of which every contestant has a complete run, with notes on the rest."""
    every = _ordered(game for each in entrants for game in each.scores)
    games = tuple(game for game in every if all(game in each.scores for each in entrants))
    left_out = {
        game: tuple(each.label for each in entrants if game not in each.scores) for game in every if game not in games
    }
    scale = _scale(games)
    on_scale = [_on_scale(each, games, scale) for each in entrants]
    normalised = scale == "human-normalised"
    return Comparison(
        contestants=tuple(entrants),
        games=games,
        left_out=left_out,
        scale=scale,
        level=level,
        resamples=num_samples,
        aggregates=tuple(
            _aggregates(each, scores, scale, num_samples, level)
            for each, scores in zip(entrants, on_scale, strict=True)
        ),
        table=tuple(_game_scores(game, entrants) for game in every),
        taus=TAUS if normalised else (),
        profiles=tuple(
            Profile(label=each.label, points=tuple(_profile(each, scores, num_samples, level)))
            for each, scores in zip(entrants, on_scale, strict=True)
            if normalised and not each.mean_only
        ),
        pairs=tuple(pair(x, y, num_samples=num_samples, level=level) for x, y in _pairs(entrants) if _common(x, y)),
        curves=tuple(curves),
        notes=(*_notes(entrants, games, left_out), *notes),
    )


def pair(x: Contestant, y: Contestant, *, num_samples: int = NUM_SAMPLES, level: float = LEVEL) -> Pair:
    """Is x better than y, over the games that both have? `UsageError` where there is none."""
    games = _common(x, y)
    if not games:
        raise UsageError(
            f"{x.label} and {y.label} share no game with complete runs: {x.label} has {listing(x.scores) or 'none'}; "
            f"{y.label} has {listing(y.scores) or 'none'}"
        )
    scale = _scale(games)
    why = next((f"of {each.label}, {MEANS}" for each in (x, y) if each.mean_only), None)
    raw_x, raw_y = ({game: each.scores[game] for game in games} for each in (x, y))
    probability = probability_of_improvement(raw_x, raw_y, num_samples=num_samples, level=level)
    differences: Mapping[str, Interval] = {}
    if scale != "none":
        differences = difference(
            _on_scale(x, games, scale), _on_scale(y, games, scale), num_samples=num_samples, level=level
        )
    named = {"mean": differences.get("mean"), "iqm": differences.get("iqm") if why is None else None}
    return Pair(
        x=x.label,
        y=y.label,
        games=games,
        probability=_explained(probability, why, x, y),
        scale=scale,
        **{name: interval and _explained(interval, why, x, y) for name, interval in named.items()},
    )


def _explained(interval: Interval, why: str | None, x: Contestant, y: Contestant) -> Interval:
    """The interval with a refusal in the contestants' names."""
    if interval.refused is None:
        return interval
    whose = {"x has ": x.label, "y has ": y.label}.get(interval.refused[:6])
    reason = why or (f"{whose} has {interval.refused[6:]}" if whose else interval.refused)
    return interval.model_copy(update={"refused": reason})


def _pairs(entrants: Sequence[Contestant]) -> Iterator[tuple[Contestant, Contestant]]:
    """Each run of ours against all that come after it, and where there is none, all against all."""
    ours = [each for each in entrants if each.kind == "run"] or entrants
    for place, x in enumerate(entrants):
        if x in ours:
            yield from ((x, y) for y in entrants[place + 1 :])


def _common(x: Contestant, y: Contestant) -> tuple[str, ...]:
    return _ordered(game for game in x.scores if game in y.scores)


def _ordered(games: Iterator[str]) -> tuple[str, ...]:
    """Each game once: the Atari 100k games in their usual order, then the others as they come."""
    found = dict.fromkeys(games)
    return (*(game for game in ATARI_100K if game in found), *(game for game in found if game not in ATARI_100K))


def _scale(games: Sequence[str]) -> Scale:
    if len(games) == 1:
        return "return"
    return "human-normalised" if games and all(game in ATARI_100K for game in games) else "none"


def _on_scale(each: Contestant, games: Sequence[str], scale: Scale) -> dict[str, list[float]]:
    if scale == "human-normalised":
        return {game: human_normalise(game, each.scores[game]).tolist() for game in games}
    return {game: list(each.scores[game]) for game in games}


def _aggregates(
    each: Contestant, scores: Mapping[str, Sequence[float]], scale: Scale, num_samples: int, level: float
) -> Aggregates:
    found: dict[str, Interval] = {}
    if scale != "none":
        found = aggregate(scores, num_samples=num_samples, level=level)
    if each.mean_only:
        found = {
            name: found[name].model_copy(update={"refused": MEANS}) for name in ("mean", "median") if name in found
        }
    normalised = scale == "human-normalised"
    return Aggregates(
        label=each.label,
        runs=sum(map(len, scores.values())),
        planned_runs=sum(each.planned_runs[game] for game in scores),
        mean=found.get("mean"),
        median=found.get("median"),
        iqm=found.get("iqm"),
        optimality_gap=found.get("optimality_gap") if normalised else None,
        superhuman=superhuman_count(scores) if normalised else None,
    )


def _profile(each: Contestant, scores: Mapping[str, Sequence[float]], num_samples: int, level: float) -> list[Interval]:
    return performance_profile(scores, TAUS, num_samples=num_samples, level=level)


def _game_scores(game: str, entrants: Sequence[Contestant]) -> GameScores:
    there = [each for each in entrants if game in each.scores]
    means = {each.label: statistics.fmean(each.scores[game]) for each in there}
    agents = [each.label for each in there if not each.reference]
    best = max((means[label] for label in agents), default=None)
    return GameScores(
        game=game,
        means=means,
        stds={each.label: statistics.stdev(each.scores[game]) for each in there if len(each.scores[game]) > 1},
        best=tuple(label for label in agents if means[label] == best) if len(agents) > 1 else (),
    )


def few_runs(each: Contestant, games: Sequence[str]) -> bool:
    """Whether there are intervals that rest on two runs of a game."""
    counts = [len(each.scores[game]) for game in games]
    return bool(counts) and min(counts) == 2


def _nobody(labels: Sequence[str]) -> str:
    """`X has no`, `neither X nor Y has a`, `none of X, Y, Z has a`."""
    if len(labels) == 1:
        return f"{labels[0]} has no"
    return f"neither {' nor '.join(labels)} has a" if len(labels) == 2 else f"none of {', '.join(labels)} has a"


def _notes(
    entrants: Sequence[Contestant], games: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if left_out:
        lacking: dict[tuple[str, ...], list[str]] = {}
        for game, labels in left_out.items():
            lacking.setdefault(tuple(labels), []).append(game)
        for labels_of, missing in lacking.items():
            yield f"not in the aggregates: {listing(missing, 26)}, of which {_nobody(labels_of)} complete run"
    if not games:
        yield "there is no game of which everyone has a complete run, so there are no aggregates over all"
    means = [each.label for each in entrants if each.mean_only]
    if means:
        yield (
            f"no interval, IQM, optimality gap or profile of {', '.join(means)}: {MEANS}, and IQM, gap and profile are "
            "over runs. Against them, P(X > Y) is the share of runs above the mean"
        )
    published = [each.label for each in entrants if each.kind != "run"]
    if published and len(published) < len(entrants):
        yield f"{', '.join(published)}: measured by others, under the protocols of their papers"
    for each in entrants:
        if few_runs(each, games):
            yield f"two runs of {each.label} in a game say little of their spread: its intervals are too narrow"
        if each.note:
            yield f"{each.label}: {each.note}"
        if each.altered:
            yield (
                f"{listing(each.altered)} of {each.label}: played under rules for which there is no human score "
                "(a shorter limit, lives, clipped rewards or options), so not compared with "
                f"{listing(map(canonical_name, each.altered))} of others"
            )
    for each in entrants:
        if each.seeds_vary is not None and len(entrants) > 1:
            yield f"seeds of {each.label} vary {each.seeds_vary}"
