"""From a run directory to the scores of its experiments, seed by seed."""

from __future__ import annotations

import hashlib

from wm_core.errors import StoreError
from wm_core.specs import Cell, SuiteScore, SuiteScores
from wm_core.store import RunDirectory
from wm_env_bsuite.experiments import EXPERIMENTS, SEPARATOR, Experiment
from wm_env_bsuite.log_files import log_file, read_log
from wm_env_bsuite.scores import Log, is_complete, score


def score_run(run: RunDirectory) -> SuiteScores:
    """The score of every experiment that the run plans an id of, and seed.

    An experiment is scored only where all its ids, planned or not, have a log of all episodes. `StoreError` for a
    log that is not what was recorded.
    """
    planned = {env.id.partition(SEPARATOR)[0] for env in run.spec.envs if env.backend == "bsuite"}
    experiments = [experiment for name, experiment in EXPERIMENTS.items() if name in planned]
    rows = tuple(_scored(run, experiment, seed) for experiment in experiments for seed in run.spec.seeds)
    return SuiteScores(rows=rows, notes=_notes(run, len(experiments)))


def _scored(run: RunDirectory, experiment: Experiment, seed: int) -> SuiteScore:
    logs = {
        index: _log(run, Cell(agent=run.spec.agent, game=bsuite_id, seed=seed))
        for index, bsuite_id in enumerate(experiment.bsuite_ids())
    }
    whole = [index for index, log in logs.items() if is_complete(experiment.name, log)]
    complete = len(whole) == experiment.ids
    return SuiteScore(
        group=experiment.name,
        seed=seed,
        score=score(experiment.name, logs) if complete else None,
        complete=complete,
        done=len(whole),
        planned=experiment.ids,
        detail="" if complete else _lacking(experiment, logs),
        tags=experiment.tags,
    )


def _log(run: RunDirectory, cell: Cell) -> Log:
    """The log of a cell that has ended; no rows for one that has not."""
    record = run.learned(cell)
    if record is None:
        return ()
    directory = run.path / record.log
    path = log_file(directory, cell.game)
    for name, digest in record.sha256.items():
        file = directory / name
        if not file.is_file():
            raise StoreError(f"{file}, the log of {cell}, is gone; put it back, or run the suite with --overwrite")
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise StoreError(f"{file}, the log of {cell}, has changed since it was recorded; put it back")
    return read_log(path)


def _lacking(experiment: Experiment, logs: dict[int, Log]) -> str:
    """What is short, in a few words: `catch/4: 1200 of 10000 episodes`, and how many ids have no log at all."""
    short = [
        f"{experiment.name}/{index}: {int(log[-1]['episode'])} of {experiment.episodes} episodes"
        for index, log in logs.items()
        if log and not is_complete(experiment.name, log)
    ]
    without = sum(not log for log in logs.values())
    listed = [*short[:3], *([f"{len(short) - 3} more that are short"] if len(short) > 3 else [])]
    return "; ".join([*listed, *([f"no log of {without} ids"] if without else [])])


def _notes(run: RunDirectory, experiments: int) -> tuple[str, ...]:
    notes = ["a score is of a whole learning run on every id of its experiment, 0 to 1 (arXiv:1908.03568)"]
    if experiments < len(EXPERIMENTS):
        notes.append(
            f"{experiments} of bsuite's {len(EXPERIMENTS)} experiments are in this run; "
            "a tag's score here is over those, and bsuite's is over all"
        )
    records = [record for record in map(run.learned, run.spec.cells()) if record is not None]
    if records and not any(record.learned for record in records):
        notes.append(f"{run.spec.agent} did not learn: it acted for as many episodes as a learning run has")
    return tuple(notes)
