"""`comparison.json`: everything that tables and figures show, computed once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from wm_core.reporting.versus.contestants import Contestant
from wm_core.specs import Interval, Spec

Scale = Literal["human-normalised", "return", "none"]


class Aggregates(Spec):
    """Statistics of one contestant over the common games."""

    label: str
    runs: int = Field(description="Complete runs in the common games; one a game where only means are known")
    planned_runs: int
    mean: Interval | None = Field(description="None where scores of different games do not mix")
    median: Interval | None
    iqm: Interval | None
    optimality_gap: Interval | None = Field(description="On human-normalised scores only")
    superhuman: int | None = Field(description="Games with a mean human-normalised score >= 1")


class GameScores(Spec):
    """One game: the mean score of each contestant that has it."""

    game: str
    means: dict[str, FiniteFloat]
    stds: dict[str, FiniteFloat] = Field(description="Sample standard deviation over runs, where there are two or more")
    best: tuple[str, ...] = Field(description="Labels with the highest mean; reference players are left out")


class Profile(Spec):
    """`P(score > tau)` at each of the comparison's `taus`."""

    label: str
    points: tuple[Interval, ...]


class Pair(Spec):
    """Whether x is better than y, over the games that both have."""

    x: str
    y: str
    games: tuple[str, ...]
    probability: Interval = Field(description="P(X > Y): share of pairs of runs that x wins, averaged over games")
    scale: Scale = Field(description="Of the differences")
    mean: Interval | None = Field(description="Mean of x minus mean of y")
    iqm: Interval | None = Field(description="Interquartile mean of x minus that of y")


class Curve(Spec):
    """Evaluations in the course of one training run."""

    label: str
    game: str
    seed: int
    env_steps: tuple[int, ...] = Field(description="Agent steps so far")
    frames_per_step: FiniteFloat
    mean_return: tuple[FiniteFloat, ...]


class Comparison(Spec):
    """Several contestants over the games they share."""

    format: Literal["wmbench.comparison/1"] = "wmbench.comparison/1"
    contestants: tuple[Contestant, ...]
    games: tuple[str, ...] = Field(description="Games of which every contestant has a complete run")
    left_out: dict[str, tuple[str, ...]] = Field(description="Game -> labels of those that lack it")
    scale: Scale
    level: float
    resamples: int
    aggregates: tuple[Aggregates, ...]
    table: tuple[GameScores, ...] = Field(description="All games of anyone")
    taus: tuple[FiniteFloat, ...] = Field(description="Human-normalised scores; empty on other scales")
    profiles: tuple[Profile, ...]
    pairs: tuple[Pair, ...]
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]
