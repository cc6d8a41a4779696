"""Sample efficiency: evaluations in the course of training, over agent steps and frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wm_core.metrics.baselines import ATARI_100K
from wm_core.reporting.figure_style import COLUMN_INCHES, PAGE_INCHES, look
from wm_core.reporting.versus.curve_means import mean_curve, normalised
from wm_core.reporting.versus.model import Comparison, Curve

_PANELS_ACROSS = 4


def curve_figures(plt: Any, comparison: Comparison) -> Iterator[tuple[str, Any]]:
    """Names and figures: the IQM over the normalisable games that all agents have, and a panel for each game."""
    games = list(dict.fromkeys(curve.game for curve in comparison.curves))
    if not games:
        return
    order = [each.label for each in comparison.contestants]
    if len(games) > 1:
        common = _common_games(comparison.curves, games)
        if len(common) > 1:
            figure, panel = plt.subplots(figsize=(COLUMN_INCHES, 2.3))
            whole = [curve for curve in comparison.curves if curve.game in common]
            _curves(panel, [normalised(curve) for curve in whole], order, "iqm")
            panel.set_ylabel(f"IQM human-normalised\nscore, {len(common)} games")
            panel.legend()
            yield "learning_curves", figure
    across = min(_PANELS_ACROSS, len(games))
    down = -(-len(games) // across)
    size = (COLUMN_INCHES, 2.3) if len(games) == 1 else (PAGE_INCHES, 1.7 * down + 0.3)
    figure, panels = plt.subplots(down, across, figsize=size, squeeze=False)
    for place, panel in enumerate(panels.flat):
        if place >= len(games):
            panel.set_axis_off()
            continue
        _curves(panel, [curve for curve in comparison.curves if curve.game == games[place]], order, "mean")
        panel.set_title(games[place])
        if place % across == 0:
            panel.set_ylabel("mean return")
    if len(games) == 1:
        panels.flat[0].legend()
        yield "learning_curves", figure
        return
    shown = _share_labels(panels.flat[: len(games)], across)
    agents = sorted(shown, key=lambda name: order.index(name.rpartition(" (")[0]))
    figure.legend([shown[name] for name in agents], agents, loc="outside lower center", ncols=min(4, len(agents)))
    yield "learning_curves_by_game", figure


def _share_labels(panels: Sequence[Any], across: int) -> dict[str, Any]:
    """Name the steps below the lowest panels and the frames above the highest; a line of each name in any panel."""
    shown: dict[str, Any] = {}
    for place, panel in enumerate(panels):
        shown |= {name: line for line, name in zip(*panel.get_legend_handles_labels(), strict=True)}
        if place + across < len(panels):
            panel.set_xlabel("")
        for above in panel.child_axes if place >= across else ():
            above.set_xlabel("")
    return shown


def _common_games(curves: Sequence[Curve], games: Sequence[str]) -> list[str]:
    agents = {curve.label for curve in curves}
    return [
        game
        for game in games
        if game in ATARI_100K and {curve.label for curve in curves if curve.game == game} == agents
    ]


def _curves(panel: Any, curves: Sequence[Curve], order: Sequence[str], statistic: str) -> None:
    """The mean curve of each agent with its interval; below it agent steps, above it frames."""
    for label in dict.fromkeys(curve.label for curve in curves):
        of_agent = [curve for curve in curves if curve.label == label]
        steps, intervals = mean_curve(of_agent, statistic)
        looks = look(order.index(label))
        panel.plot(
            steps,
            [interval.point for interval in intervals],
            label=f"{label} ({_runs(of_agent)})",
            markevery=max(1, len(steps) // 10),
            **looks,
        )
        if intervals and intervals[0].lo is not None:
            low, high = [interval.lo for interval in intervals], [interval.hi for interval in intervals]
            panel.fill_between(steps, low, high, color=looks["color"], alpha=0.18, linewidth=0)
    panel.set_xlabel("agent steps")
    _thousands(panel.xaxis)
    skips = {curve.frames_per_step for curve in curves}
    if len(skips) == 1 and skips != {1.0}:
        (skip,) = skips
        above = panel.secondary_xaxis("top", functions=(lambda x: x * skip, lambda x: x / skip))
        above.set_xlabel("frames")
        _thousands(above.xaxis)


def _runs(curves: Sequence[Curve]) -> str:
    return f"{len(curves)} run{'s' if len(curves) > 1 else ''}"


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(lambda value, place: f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}")
