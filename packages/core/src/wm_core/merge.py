"""Several run directories of one measurement become one: seeds or games that were measured in different places."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from wm_core.errors import StoreError, UsageError
from wm_core.ledger import Ledger
from wm_core.specs import Cell, Checkpoint, EnvSpec, RunSpec
from wm_core.store import EPISODES, MANIFEST, Manifest, RunDirectory, exclusive

_BY_CELL = ("envs", "seeds", "checkpoints", "seed_checkpoints", "partial")
"""Fields in which runs that are merged may differ, as long as no cell is two things."""
_CURVES = "training/*/metrics.csv"
"""Beside the store, what reports read of a training."""


def merge(directories: Sequence[Path], into: Path) -> RunDirectory:
    """Write the run that holds all cells of the runs in `directories`; it can be resumed and reported like any other.

    The games and seeds are those of all runs together; a cell that no run had is planned and not measured. Weights
    that were trained stay where they are; logs of learning runs and curves of training are copied.

    Raises `UsageError` for fewer than two runs, and `StoreError` where `into` holds a run already, or two runs
    disagree: on what is measured, on a game's environment, on a game's weights, or on what a cell gave.
    """
    if len({path.absolute() for path in directories}) < 2:
        raise UsageError("merge needs two run directories or more, each named once")
    runs = [RunDirectory.attach(path) for path in directories]
    spec = _merged_spec(runs)
    _check_results(runs)
    with exclusive(into):
        if (into / MANIFEST).exists() or (into / EPISODES).exists():
            raise StoreError(f"{into} holds a run already; choose another --out-dir")
        for run in runs:
            _copy_logs(run, into)
        with (into / EPISODES).open("xb") as file:
            for run in runs:
                file.write(run.read_from(0)[0])
        Manifest(spec_sha256=spec.digest(), spec=spec, provenance=runs[0].manifest.provenance).write(into)
    return RunDirectory.attach(into)


def _merged_spec(runs: Sequence[RunDirectory]) -> RunSpec:
    first = runs[0].spec
    for run in runs[1:]:
        differences = [name for name in first.differences(run.spec) if name not in _BY_CELL]
        if differences:
            raise StoreError(
                f"{runs[0].path} and {run.path} measure different things (they differ in: {', '.join(differences)}); "
                "only runs of one measurement can be merged"
            )
    envs = _merged_envs(runs)
    shared = {game: weights for game in envs if (weights := _shared_weights(runs, game)) is not None}
    own = {game: by_seed for game in envs if (by_seed := _own_weights(runs, game))}
    for game in shared.keys() & own.keys():
        raise StoreError(f"{game} was measured with one checkpoint for all seeds and with one for each; merge neither")
    spec = first.model_copy(
        update={
            "envs": tuple(envs.values()),
            "seeds": tuple(sorted({seed for run in runs for seed in run.spec.seeds})),
            "checkpoints": shared,
            "seed_checkpoints": own,
        }
    )
    lacking = any(spec.checkpoint(cell) is None for cell in spec.cells())
    return spec.model_copy(update={"partial": lacking and bool(shared or own)})


def _merged_envs(runs: Sequence[RunDirectory]) -> dict[str, EnvSpec]:
    envs: dict[str, tuple[EnvSpec, RunDirectory]] = {}
    for run in runs:
        for env in run.spec.envs:
            known, owner = envs.setdefault(env.id, (env, run))
            fields = [name for name in EnvSpec.model_fields if getattr(known, name) != getattr(env, name)]
            if fields:
                raise StoreError(
                    f"{owner.path} and {run.path} play {env.id} differently (they differ in: {', '.join(fields)})"
                )
    return {game: env for game, (env, _) in envs.items()}


def _shared_weights(runs: Sequence[RunDirectory], game: str) -> Checkpoint | None:
    given = [(run, run.spec.checkpoints[game]) for run in runs if game in run.spec.checkpoints]
    return _agreed(given, f"{game}")


def _own_weights(runs: Sequence[RunDirectory], game: str) -> dict[int, Checkpoint]:
    by_seed: dict[int, list[tuple[RunDirectory, Checkpoint]]] = {}
    for run in runs:
        for seed, weights in run.spec.seed_checkpoints.get(game, {}).items():
            by_seed.setdefault(seed, []).append((run, weights))
    agreed = {seed: _agreed(given, f"{game}, seed {seed}") for seed, given in sorted(by_seed.items())}
    return {seed: weights for seed, weights in agreed.items() if weights is not None}


def _agreed(given: Sequence[tuple[RunDirectory, Checkpoint]], what: str) -> Checkpoint | None:
    for run, weights in given:
        if weights.sha256 != given[0][1].sha256:
            raise StoreError(
                f"{given[0][0].path} and {run.path} measured {what} with different weights: {given[0][1].path} and "
                f"{weights.path}; only runs of the same weights can be merged"
            )
    return given[0][1] if given else None


def _check_results(runs: Sequence[RunDirectory]) -> None:
    """What two runs both hold must be the same, but for the time it took."""
    seen: dict[tuple[Cell, str], tuple[object, RunDirectory]] = {}
    for run in runs:
        run.episodes()  # strangers are refused
        for cell, what, value in _results(run.ledger()):
            known, owner = seen.setdefault((cell, what), (value, run))
            if known != value:
                raise StoreError(f"{owner.path} and {run.path} disagree on {what} of {cell}; leave one of the two out")


def _results(ledger: Ledger) -> Iterator[tuple[Cell, str, object]]:
    for cell, episodes in ledger.episodes.items():
        for number, episode in episodes.items():
            yield cell, f"episode {number}", episode.model_copy(update={"wall_time_s": None})
    for cell, trained in ledger.trained.items():
        yield cell, "the trained weights", trained.checkpoint.sha256
    for cell, learned in ledger.learned.items():
        yield cell, "the learning log", learned.sha256


def _copy_logs(run: RunDirectory, into: Path) -> None:
    names = {Path(record.log) / name for record in run.ledger().learned.values() for name in record.sha256}
    names |= {curve.relative_to(run.path) for curve in run.path.glob(_CURVES)}
    for name in sorted(names):
        source, target = run.path / name, into / name
        if target.exists():
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        except OSError as error:
            raise StoreError(f"cannot copy {source} to {target}: {error.strerror or error}") from error
