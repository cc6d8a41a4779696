"""The figures of a comparison, each as PDF and PNG: aggregates, profiles, improvement, scores, curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wm_core.reporting.figure_style import COLUMN_INCHES, look, pyplot, save, style
from wm_core.reporting.formatting import percent
from wm_core.reporting.versus.curve_figures import curve_figures
from wm_core.reporting.versus.model import Aggregates, Comparison
from wm_core.specs import Interval

_STATISTICS = {"mean": "Mean", "median": "Median", "iqm": "IQM", "optimality_gap": "Optimality gap"}


def draw(comparison: Comparison, directory: Path) -> list[Path]:
    """Write all figures for which there are numbers; their paths. `UsageError` without matplotlib."""
    plt = pyplot()
    makers: dict[str, Callable[[Any, Comparison], Any | None]] = {
        "aggregates": _aggregates,
        "performance_profiles": _profiles,
        "probability_of_improvement": _improvement,
    }
    paths: list[Path] = []
    with style():
        for name, make in makers.items():
            figure = make(plt, comparison)
            if figure is not None:
                paths += save(figure, directory / name)
        for name, figure in curve_figures(plt, comparison):
            paths += save(figure, directory / name)
    return paths


def _aggregates(plt: Any, comparison: Comparison) -> Any | None:
    """A panel a statistic: a bar for the interval, a tick for the point; a diamond where there is no interval."""
    names = [name for name in _STATISTICS if any(getattr(each, name) is not None for each in comparison.aggregates)]
    if not names:
        return None
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    entrants = comparison.aggregates
    height = rows * (0.19 * len(entrants) + 0.5)
    figure, axes = plt.subplots(
        rows, columns, figsize=(COLUMN_INCHES * (0.7 if columns == 1 else 1), height), squeeze=False, sharey=True
    )
    for place, panel in enumerate(axes.flat):
        if place >= len(names):
            panel.set_axis_off()
            continue
        _statistic_panel(panel, names[place], entrants)
        panel.set_yticks(range(len(entrants)), [each.label for each in entrants])
        panel.set_ylim(len(entrants) - 0.4, -0.6)
    unit = "human-normalised score" if comparison.scale == "human-normalised" else "return"
    hollow = any(getattr(each, name) and getattr(each, name).lo is None for each in entrants for name in names)
    figure.supxlabel(
        f"{unit}; bars: {percent(comparison.level)} intervals{'; diamonds: no interval' if hollow else ''}", fontsize=7
    )
    return figure


def _statistic_panel(panel: Any, name: str, entrants: tuple[Aggregates, ...]) -> None:
    panel.set_title(_STATISTICS[name] + ("\n(less is better)" if name == "optimality_gap" else ""))
    panel.use_sticky_edges = False
    panel.margins(x=0.08)
    panel.grid(axis="y", visible=False)
    panel.tick_params(axis="y", length=0)
    for place, each in enumerate(entrants):
        interval: Interval | None = getattr(each, name)
        if interval is not None:
            _mark(panel, interval, place, look(place)["color"])
        else:
            across = panel.get_yaxis_transform()
            panel.text(0.03, place, "no runs", transform=across, va="center", color="0.5", fontsize=6)


def _mark(panel: Any, interval: Interval, height: float, colour: str) -> None:
    if interval.lo is None or interval.hi is None:
        panel.plot(interval.point, height, "D", color=colour, markerfacecolor="white", markersize=3.5)
        return
    panel.barh(height, interval.hi - interval.lo, left=interval.lo, height=0.6, color=colour, alpha=0.55, linewidth=0)
    panel.plot([interval.point] * 2, [height - 0.3, height + 0.3], color="black", linewidth=1, solid_capstyle="butt")


def _profiles(plt: Any, comparison: Comparison) -> Any | None:
    if not comparison.profiles:
        return None
    figure, panel = plt.subplots(figsize=(COLUMN_INCHES, 2.3))
    order = [each.label for each in comparison.contestants]
    last = 0.0
    for profile in comparison.profiles:
        looks = look(order.index(profile.label))
        points = [interval.point for interval in profile.points]
        last = max(last, *(tau for tau, point in zip(comparison.taus, points, strict=True) if point > 0.005), 0.5)
        panel.plot(comparison.taus, points, label=profile.label, markevery=(4, 20), **looks)
        if all(interval.lo is not None for interval in profile.points):
            lower, upper = [i.lo for i in profile.points], [i.hi for i in profile.points]
            panel.fill_between(comparison.taus, lower, upper, color=looks["color"], alpha=0.18, linewidth=0)
    panel.set_xlim(0, min(comparison.taus[-1], last * 1.05))
    panel.set_ylim(0, 1.01)
    panel.set_xlabel(r"human-normalised score $\tau$")
    panel.set_ylabel(r"share of runs with score > $\tau$")
    panel.legend()
    return figure


def _improvement(plt: Any, comparison: Comparison) -> Any | None:
    """A row a pair; a half is a tie."""
    pairs = comparison.pairs
    if not pairs:
        return None
    figure, panel = plt.subplots(figsize=(COLUMN_INCHES, 0.2 * len(pairs) + 0.55))
    order = [each.label for each in comparison.contestants]
    for place, pair in enumerate(pairs):
        _mark(panel, pair.probability, place, look(order.index(pair.y))["color"])
    panel.axvline(0.5, color="0.3", linewidth=0.8, linestyle="--", zorder=0)
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(len(pairs) - 0.4, -0.6)
    panel.set_yticks(range(len(pairs)), [f"{pair.x} > {pair.y}" for pair in pairs])
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="y", visible=False)
    panel.set_xlabel(f"P(X > Y), {percent(comparison.level)} intervals")
    return figure
