"""`wmbench bsuite-score`: the scores of a directory of bsuite's logs, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command("bsuite-score", short_help="Score a directory of bsuite's CSV logs.")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def bsuite_score(directory: Path, as_json: bool) -> None:
    """Score the logs (bsuite_id_-_*.csv) of one agent and seed in DIRECTORY.

    An experiment has a score when all its ids have a whole log; below it is what bsuite's formula gives for each id
    alone, which is not the score of the experiment. `wmbench train` on an id writes its log to OUT/learning.
    """
    found = _scores(directory)
    if as_json:
        click.echo(json.dumps(found))
        return
    width = max(len(name) for group in found.values() for name in group)
    for title, group in (("experiment", found["experiments"]), ("id alone", found["ids"])):
        click.echo(f"{title:<{width}}  score")
        for name, entry in group.items():
            score = entry["score"]
            shown = f"incomplete {entry['done']}/{entry['planned']}" if score is None else f"{score:.4f}"
            click.echo(f"{name:<{width}}  {shown}")


def _scores(directory: Path) -> dict[str, dict[str, Any]]:
    from wm_core.errors import UsageError
    from wm_env_bsuite.experiments import EXPERIMENTS
    from wm_env_bsuite.log_files import log_file, read_log
    from wm_env_bsuite.scores import is_complete, score, score_of_id

    experiments: dict[str, Any] = {}
    ids: dict[str, Any] = {}
    for name, experiment in EXPERIMENTS.items():
        logs = {place: read_log(log_file(directory, game)) for place, game in enumerate(experiment.bsuite_ids())}
        if not any(logs.values()):
            continue
        done = sum(is_complete(name, log) for log in logs.values())
        whole = done == experiment.ids
        experiments[name] = {"score": score(name, logs) if whole else None, "done": done, "planned": experiment.ids}
        for game, log in zip(experiment.bsuite_ids(), logs.values(), strict=True):
            if log:
                value = score_of_id(game, log) if is_complete(name, log) else None
                ids[game] = {"score": value, "done": int(log[-1]["episode"]), "planned": experiment.episodes}
    if not experiments:
        raise UsageError(f"{directory} has no log of bsuite (bsuite_id_-_*.csv); name the directory that holds them")
    return {"experiments": experiments, "ids": ids}
