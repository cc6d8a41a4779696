"""A hook: after a run in Crafter, `crafter_score.json` and `crafter_score.md` lie beside the other results.

Imports nothing of Crafter, since it is loaded with every run.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from wm_core.atomic import write_text
from wm_core.hooks import hookimpl
from wm_core.specs import EpisodeRecord, RunReport
from wm_core.store import RunDirectory
from wm_env_minecraft.crafter_score import ACHIEVEMENTS, crafter_score, success_rates


@hookimpl
def wm_run_finished(report: RunReport, directory: Path) -> None:
    """Write the scores of the games of Crafter, if there are any, from the recorded episodes."""
    games = [game.env.id for game in report.games if game.env.backend == "crafter"]
    if not games:
        return
    episodes = RunDirectory.attach(directory).episodes()
    results = [
        scored(game, [list(of.values()) for cell, of in sorted(episodes.items(), key=_seed) if cell.game == game])
        for game in games
    ]
    document = {"format": "wmbench.crafter/1", "agent": report.agent, "games": results}
    write_text(directory / "crafter_score.json", json.dumps(document, indent=2) + "\n")
    write_text(directory / "crafter_score.md", _markdown(report.agent, results))


def scored(game: str, seeds: list[list[EpisodeRecord]]) -> dict[str, Any]:
    """Scores of each seed's episodes and their mean; the success rates are means over seeds.

    Episodes without counts (of an agent that evaluates itself) are not scored, and seeds without a scored episode
    are left out of the means; `episodes` says how many were.
    """
    found: list[dict[str, Any]] = []
    for records in seeds:
        counted = [record.extras for record in records if record.extras]
        if not counted:
            continue
        rates = success_rates(counted)
        cell = records[0].cell
        found.append(
            {"seed": cell.seed, "episodes": len(counted), "score": crafter_score(rates), "success_rates": rates}
        )
    scores = [seed["score"] for seed in found]
    return {
        "game": game,
        "score": statistics.fmean(scores) if scores else None,
        "score_std": statistics.stdev(scores) if len(scores) > 1 else None,
        "success_rates": {
            name: statistics.fmean(seed["success_rates"][name] for seed in found) if found else None
            for name in ACHIEVEMENTS
        },
        "seeds": found,
    }


def _seed(item: tuple[Any, Any]) -> int:
    seed: int = item[0].seed
    return seed


def _markdown(agent: str, results: list[dict[str, Any]]) -> str:
    lines = [f"# Crafter: {agent}", ""]
    for result in results:
        lines += [f"## {result['game']}", ""]
        if result["score"] is None:
            lines += ["No episode was recorded with its achievements, so there is no score.", ""]
            continue
        std = result["score_std"]
        spread = "" if std is None else f" ± {std:.2f} (sample standard deviation over {len(result['seeds'])} seeds)"
        played = ", ".join(f"seed {seed['seed']}: {seed['episodes']}" for seed in result["seeds"])
        lines += [
            f"Crafter score: **{result['score']:.2f} %**{spread}. Episodes: {played}.",
            "",
            "The geometric mean of the success rates, `exp(mean(ln(1 + s))) - 1`, of these evaluation episodes; the "
            "paper's numbers are of all episodes of a training of one million steps.",
            "",
            "| achievement | success rate (%) |",
            "|---|---:|",
            *(f"| {name.replace('_', ' ')} | {result['success_rates'][name]:.1f} |" for name in ACHIEVEMENTS),
            "",
        ]
    return "\n".join(lines)
