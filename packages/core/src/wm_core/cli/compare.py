"""`wmbench compare A B`: is A better than B?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from wm_core.errors import UsageError
from wm_core.metrics.bootstrap import LEVEL
from wm_core.metrics.published import PublishedScores, find_baseline
from wm_core.reporting.comparison import general_notes, protocol_notes
from wm_core.reporting.formatting import HNS_DECIMALS, bounds, decimals_for, listing, number, percent
from wm_core.reporting.versus.compute import few_runs, pair
from wm_core.reporting.versus.contestants import Contestant, contestants
from wm_core.reporting.versus.model import Pair
from wm_core.results import build_report
from wm_core.specs import Interval, RunReport
from wm_core.store import MANIFEST, RunDirectory


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--json", "as_json", is_flag=True, help="The answer as one JSON object.")
def compare(a: str, b: str, as_json: bool) -> None:
    """Is A better than B? One line, with the probability of improvement and its interval.

    A and B are run directories, names of published results (`wmbench baselines`) or files of scores.
    """
    sides = [_side(a), _side(b)]
    runs = [(report, source) for report, source in sides if isinstance(report, RunReport)]
    published = [scores for scores, _ in sides if isinstance(scores, PublishedScores)]
    found = contestants([report for report, _ in runs], [source for _, source in runs], published)
    if isinstance(sides[0][0], PublishedScores) and runs:
        found.reverse()
    x, y = found
    result = pair(x, y)
    reports = [report for report, _ in runs]
    notes = [*_notes(x, y, result), *(f"{game}: {note}" for game, note in protocol_notes(reports).items())]
    notes += general_notes(reports) if len(reports) > 1 else []
    if as_json:
        answer = {"event": "compare", "verdict": _verdict(result), "notes": notes, **result.model_dump(mode="json")}
        click.echo(json.dumps(answer, ensure_ascii=False))
        return
    click.echo(_line(result))
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _side(text: str) -> tuple[RunReport | PublishedScores, str]:
    path = Path(text)
    if path.is_dir():
        runs = [path] if (path / MANIFEST).exists() else sorted(each.parent for each in path.glob(f"*/{MANIFEST}"))
        if len(runs) != 1:
            holds = f"holds {len(runs)} runs ({listing(each.name for each in runs)})" if runs else "holds no run"
            raise UsageError(f"{path} {holds}; give one run directory")
        report = build_report(RunDirectory.attach(runs[0]))
        if report.measures == "learning":
            raise UsageError(f"{path} holds learning runs, which its suite scores (suite.md); they have no mean return")
        return report, str(runs[0])
    found = find_baseline(text)
    if len(found) > 1:
        raise UsageError(f"{text} holds several agents; name one, e.g. {text}:{found[0].name}")
    return found[0], text


def _verdict(result: Pair) -> str:
    """`yes`, `no`, or `undecided` where the interval holds a half or is missing."""
    if result.probability.lo is None or result.probability.hi is None:
        return "undecided"
    if result.probability.lo > 0.5:
        return "yes"
    return "no" if result.probability.hi < 0.5 else "undecided"


def _line(result: Pair) -> str:
    where = result.games[0] if len(result.games) == 1 else f"{len(result.games)} games"
    answer = {
        "yes": f"yes, {result.x} is better than {result.y}",
        "no": f"no, {result.y} is better than {result.x}",
        "undecided": f"undecided between {result.x} and {result.y}",
    }[_verdict(result)]
    parts = [f"P({result.x} > {result.y}) = {_shown(result.probability, HNS_DECIMALS)}"]
    for name, gap in (("IQM", result.iqm), ("mean", result.mean)):
        if gap is not None:
            decimals = HNS_DECIMALS if result.scale == "human-normalised" else decimals_for([gap.point])
            sign = "+" if gap.point > 0 else ""
            parts.append(f"difference of {name} {sign}{_shown(gap, decimals)}")
    unit = " (human-normalised)" if result.scale == "human-normalised" else ""
    level = "" if result.probability.lo is None else f"; {percent(LEVEL)} bootstrap"
    why = "" if result.probability.refused is None else f"; no interval: {result.probability.refused}"
    return f"{answer}: {', '.join(parts)}{unit}, over {where}{level}{why}"


def _shown(interval: Interval, decimals: int) -> str:
    point = number(interval.point, decimals)
    return point if interval.lo is None else f"{point} {bounds(interval, decimals)}"


def _notes(x: Contestant, y: Contestant, result: Pair) -> list[str]:
    notes = []
    for each in (x, y):
        rest = [game for game in each.planned_runs if game not in result.games]
        if rest:
            notes.append(f"left out of {each.label}, since not both have complete runs: {listing(rest)}")
        partial = sum(each.planned_runs[game] - len(each.scores[game]) for game in result.games)
        if partial:
            notes.append(f"{partial} planned runs of {each.label} are not complete and left out")
        if few_runs(each, result.games):
            notes.append(f"two runs of {each.label} in a game say little of their spread: intervals are too narrow")
        if each.seeds_vary is not None:
            notes.append(f"seeds of {each.label} vary {each.seeds_vary}")
        if each.untrained:
            notes.append(f"{each.label} is UNTRAINED: fresh weights were measured")
        if each.note:
            notes.append(f"{each.label}: {each.note}")
    return notes
