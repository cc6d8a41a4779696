"""What is compared: runs of ours and published results, in one form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, FiniteFloat

from wm_core.metrics.baselines import canonical_name, has_baselines, is_normalisable
from wm_core.metrics.published import PublishedScores
from wm_core.reporting.comparison import labels
from wm_core.specs import Coverage, EnvSpec, RunReport, Spec

Kind = Literal["run", "published runs", "published means"]

MEANS = "only per-game means are published, and a mean says nothing of its spread"
"""Why published means have no interval."""


class Contestant(Spec):
    """One agent's scores: a number a complete run, in raw game points."""

    label: str = Field(description="Its name in tables and figures; no two share one")
    kind: Kind
    source: str = Field(description="The run directory, or where the numbers were published")
    reference: bool = Field(False, description="A random or human player; never 'best'")
    untrained: bool = False
    seeds_vary: str | None = Field(None, description="What a run of ours varies")
    coverage: Coverage | None = Field(None, description="Episodes measured of planned; None for published results")
    scores: dict[str, tuple[FiniteFloat, ...]] = Field(
        description="Game -> its complete runs. Games with baselines go by their name ('Pong'), others by their id"
    )
    planned_runs: dict[str, int] = Field(description="Game -> runs that were planned")
    altered: tuple[str, ...] = Field(
        (), description="Ids of games with human baselines, played under rules of which those say nothing"
    )
    note: str = ""

    @property
    def mean_only(self) -> bool:
        """Whether a game's one number is a mean over runs that are not known."""
        return self.kind == "published means"


def contestants(
    reports: Sequence[RunReport], sources: Sequence[str], baselines: Sequence[PublishedScores]
) -> list[Contestant]:
    """Runs in their order, then published results in theirs, each with a label of its own."""
    found = [
        _of_report(report, label, source)
        for report, label, source in zip(reports, labels(reports), sources, strict=True)
    ]
    taken = {each.label.lower() for each in found}
    for scores in baselines:
        label, number = scores.label, 1
        while label.lower() in taken:
            label = f"{scores.label} (paper)" if number == 1 else f"{scores.label} (paper {number})"
            number += 1
        taken.add(label.lower())
        found.append(_of_published(scores, label))
    return found


def game_names(envs: Sequence[EnvSpec]) -> dict[str, str]:
    """Id -> the name scores go by: `Pong` where they can be read against baselines, otherwise the id itself.

    Two ids of one game keep their ids.
    """
    count = Counter(canonical_name(env.id) for env in envs)
    return {
        env.id: canonical_name(env.id) if has_baselines(env) and count[canonical_name(env.id)] == 1 else env.id
        for env in envs
    }


def _of_report(report: RunReport, label: str, source: str) -> Contestant:
    scores: dict[str, tuple[float, ...]] = {}
    planned: dict[str, int] = {}
    names = game_names([game.env for game in report.games])
    for game in report.games:
        name = names[game.env.id]
        planned[name] = len(game.seeds)
        runs = tuple(seed.mean for seed in game.seeds if seed.complete and seed.mean is not None)
        if runs:
            scores[name] = runs
    return Contestant(
        label=label,
        kind="run",
        source=source,
        untrained=report.untrained,
        seeds_vary=report.seeds_vary,
        coverage=report.coverage,
        scores=scores,
        planned_runs=planned,
        altered=tuple(
            game.env.id for game in report.games if is_normalisable(game.env.id) and not has_baselines(game.env)
        ),
    )


def _of_published(scores: PublishedScores, label: str) -> Contestant:
    source = f"{scores.source}" + (f"; the agent: {scores.paper}" if scores.paper else "")
    if scores.rounding is not None:
        source += f"; rounded to {scores.rounding}"
    return Contestant(
        label=label,
        kind="published runs" if scores.runs else "published means",
        source=source,
        reference=scores.reference,
        scores=scores.scores,
        planned_runs={game: len(runs) for game, runs in scores.scores.items()},
        note=scores.note,
    )
