"""The two figures of bsuite: a radar by tag, and a bar for each experiment. They need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wm_core.reporting.figure_style import COLOURS, pyplot, save, style
from wm_core.specs import SuiteScore, SuiteScores
from wm_env_bsuite.experiments import EXPERIMENTS, TAGS


def draw(scores: SuiteScores, directory: Path) -> list[Path]:
    """Write `bsuite-radar` and `bsuite-experiments` into `directory`, each in the formats of `figure_style.save`.

    `UsageError` where matplotlib is not installed.
    """
    return [*_radar(scores.rows, directory / "bsuite-radar"), *_bars(scores.rows, directory / "bsuite-experiments")]


def by_experiment(rows: Sequence[SuiteScore]) -> dict[str, list[float]]:
    """The scores of each experiment that has rows, one a complete seed, in bsuite's order."""
    return {
        name: [row.score for row in rows if row.group == name and row.score is not None]
        for name in EXPERIMENTS
        if any(row.group == name for row in rows)
    }


def by_tag(rows: Sequence[SuiteScore]) -> dict[str, tuple[float | None, int, int]]:
    """Of each tag: the mean over its scored experiments (each a mean over seeds), how many are scored, of how many.

    None where none is.
    """
    scored = {name: float(np.mean(values)) for name, values in by_experiment(rows).items() if values}
    tags = {}
    for tag in TAGS:
        names = [name for name, experiment in EXPERIMENTS.items() if tag in experiment.tags]
        values = [scored[name] for name in names if name in scored]
        tags[tag] = (float(np.mean(values)) if values else None, len(values), len(names))
    return tags


def _radar(rows: Sequence[SuiteScore], stem: Path) -> list[Path]:
    """One axis a tag. A tag of which not all experiments are scored has a hollow point; one of none has no point.

    The outline is drawn where all tags have a point.
    """
    plt = pyplot()
    tags = by_tag(rows)
    angles = np.linspace(0.0, 2 * np.pi, len(tags), endpoint=False)
    with style():
        figure, axes = plt.subplots(figsize=(3.4, 3.2), subplot_kw={"projection": "polar"})
        values = np.array([np.nan if mean is None else mean for mean, _, _ in tags.values()])
        if not np.isnan(values).any():
            ring = [*range(len(tags)), 0]
            axes.plot(angles[ring], values[ring], color=COLOURS[0], linewidth=1.2)
            axes.fill(angles, values, color=COLOURS[0], alpha=0.2)
        for angle, (mean, scored, planned) in zip(angles, tags.values(), strict=True):
            if mean is not None:
                face = COLOURS[0] if scored == planned else "white"
                axes.plot(angle, mean, "o", color=COLOURS[0], markerfacecolor=face, markersize=4, zorder=3)
        axes.set_theta_offset(np.pi / 2)
        axes.set_theta_direction(-1)
        axes.set_ylim(0.0, 1.0)
        axes.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1"])
        axes.set_xticks(angles, [_tag_label(tag, *entry) for tag, entry in tags.items()])
        axes.tick_params(pad=6)
        return save(figure, stem)


def _tag_label(tag: str, mean: float | None, scored: int, planned: int) -> str:
    name = tag.replace("_", "\n")
    return name if scored == planned else f"{name}\n({scored} of {planned})"


def _bars(rows: Sequence[SuiteScore], stem: Path) -> list[Path]:
    """Mean over seeds, coloured by the foremost tag; a dot a seed. An incomplete experiment has words, and no bar."""
    plt = pyplot()
    scores = by_experiment(rows)
    with style():
        figure, axes = plt.subplots(figsize=(max(3.4, 0.3 * len(scores) + 0.8), 2.6))
        drawn: dict[str, Any] = {}
        for place, (name, values) in enumerate(scores.items()):
            tag = EXPERIMENTS[name].tags[0]
            colour = COLOURS[TAGS.index(tag) % len(COLOURS)]
            if not values:
                axes.text(place, 0.02, _incomplete(rows, name), rotation=90, ha="center", va="bottom", color="0.4")
                continue
            mean = float(np.mean(values))
            drawn[tag] = axes.bar(place, mean, color=colour, width=0.75)
            if mean < 0.01:
                axes.text(place, 0.02, f"{mean:.3f}", ha="center", va="bottom", color=colour)
            if len(values) > 1:
                axes.plot([place] * len(values), values, ".", color="black", markersize=3, zorder=3)
        axes.set_xlim(-0.6, len(scores) - 0.4)
        axes.set_ylim(0.0, 1.0)
        axes.set_ylabel("score")
        axes.set_xticks(range(len(scores)), [name.replace("_", " ") for name in scores], rotation=45, ha="right")
        axes.tick_params(axis="x", length=0)
        axes.grid(visible=False, axis="x")
        if drawn:
            names = [tag.replace("_", " ") for tag in drawn]
            figure.legend(
                drawn.values(), names, loc="upper center", ncols=min(3, len(names)), bbox_to_anchor=(0.5, 1.1)
            )
        return save(figure, stem)


def _incomplete(rows: Sequence[SuiteScore], name: str) -> str:
    best = max((row for row in rows if row.group == name), key=lambda row: row.done)
    return f"incomplete {best.done}/{best.planned}"
