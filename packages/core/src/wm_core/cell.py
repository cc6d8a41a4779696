"""One cell from start to end: the environment, the agent, its weights, its episodes into the store.

This is what `wmbench run-cell CELL.json` runs, in whatever process an executor chose.
"""

from __future__ import annotations

import math
import os
import time
import traceback
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wm_core import registry
from wm_core.adapter import PolicyAdapter
from wm_core.checkpoints import file_checkpoint
from wm_core.context import agent_context
from wm_core.envs.vector import make_vector
from wm_core.errors import (
    AgentFailure,
    CheckpointError,
    EnvironmentFailure,
    StoreError,
    UsageError,
    WMBenchError,
)
from wm_core.film import EpisodeFilm
from wm_core.learning import measure_learning
from wm_core.protocols import (
    AdapterContext,
    AgentAdapter,
    CellJob,
    EvaluationResult,
    Trainable,
    TrainProgress,
    TrainRequest,
)
from wm_core.rollout import PlayedEpisode, rollout
from wm_core.specs import EpisodeRecord, FailureRecord, TrainedRecord
from wm_core.status import CellStatus, StatusFile
from wm_core.store import RunDirectory, cell_slug, missing_episodes

_LARGEST_RETURN = 1e100
_local_adapters: dict[str, type] = {}


def provide_adapter(reference: str, adapter: type) -> None:
    """Let cells that run in this process use a class that no import statement reaches."""
    _local_adapters[reference] = adapter


def run_cell(job: CellJob) -> int:
    """Measure a cell; its exit code. Whatever fails is recorded, with the traceback under `logs/`."""
    run = RunDirectory.attach(Path(job.run_dir))
    try:
        return _CellRun(run, job).measure()
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's agent may raise anything; it becomes a record
        return _record_failure(run, job, error)


def _record_failure(run: RunDirectory, job: CellJob, error: BaseException) -> int:
    if os.environ.get("WMBENCH_DEBUG"):
        traceback.print_exc()
    exit_code = error.exit_code if isinstance(error, WMBenchError) else 1
    log = run.path / "logs" / f"{cell_slug(job.cell)}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        traceback.print_exception(error, file=file)
    message = str(error) if isinstance(error, WMBenchError) else f"{type(error).__name__}: {error}"
    message = " ".join(message.encode("utf-8", "backslashreplace").decode().split())
    run.append(FailureRecord(cell=job.cell, error=type(error).__name__, message=message, exit_code=exit_code))
    return exit_code


class _CellRun:
    def __init__(self, run: RunDirectory, job: CellJob) -> None:
        self.run, self.spec, self.cell = run, job.spec, job.cell
        self.env = job.spec.env(job.cell.game)
        self.status = StatusFile(run.path / "cells" / f"{cell_slug(job.cell)}.status.json")

    def measure(self) -> int:
        for reference in self.spec.plugins:
            registry.load_file(reference)
        if self.spec.measures == "learning":
            return self._learn()
        todo = missing_episodes(self.run.episodes_of(self.cell), self.spec.episodes)
        if not todo:
            return 0
        self.status.write(CellStatus(phase="starting"))
        adapter = self._adapter(agent_context(self.spec, self.env, self.cell.seed))
        self._give_weights(adapter)
        if isinstance(adapter, PolicyAdapter) and type(adapter).evaluate is PolicyAdapter.evaluate:
            return self._play(adapter, todo)
        return self._evaluate(adapter, todo)

    def _learn(self) -> int:
        if self.run.learned(self.cell) is not None:
            return 0
        self.status.write(CellStatus(phase="starting"))
        return measure_learning(self.run, self.spec, self.cell, self._adapter, self.status)

    def _adapter(self, context: AdapterContext) -> AgentAdapter:
        cls = _local_adapters.get(self.spec.adapter) or registry.load_class(
            self.spec.adapter, f"the agent '{self.cell.agent}'"
        )
        adapter = cls(context)
        if not isinstance(adapter, AgentAdapter):
            raise AgentFailure(f"{self.spec.adapter} lacks load_checkpoint() or evaluate(); it is no AgentAdapter")
        return adapter

    def _give_weights(self, adapter: AgentAdapter) -> None:
        given = self.spec.checkpoint(self.cell)
        if given is not None:
            path = Path(given.path)
            if file_checkpoint(path).sha256 != given.sha256:
                raise CheckpointError(f"{path} has changed since this run began; put it back, or use --overwrite")
            self._load(adapter, path)
        elif self.spec.train is not None:
            self._load(adapter, self._trained(adapter))

    def _load(self, adapter: AgentAdapter, path: Path) -> None:
        try:
            adapter.load_checkpoint(path)
        except WMBenchError:
            raise
        except Exception as error:
            raise CheckpointError(
                f"{self.cell.agent} cannot load {path}: {type(error).__name__}: {error}; "
                "check that the file is whole and of this agent"
            ) from error

    def _trained(self, adapter: AgentAdapter) -> Path:
        budget = self.spec.train
        assert budget is not None
        if not isinstance(adapter, Trainable):
            raise UsageError(f"{self.cell.agent} cannot be trained here; give it a checkpoint with -c")
        done = self.run.trained(self.cell)
        if done is not None:
            path = Path(done.checkpoint.path)
            if file_checkpoint(path).sha256 != done.checkpoint.sha256:
                raise CheckpointError(f"{path} has changed since it was trained here; use --overwrite to train again")
            return path

        def on_progress(progress: TrainProgress) -> None:
            self.status.write(
                CellStatus(phase="training", done=progress.done, steps=progress.steps, message=progress.message)
            )

        directory = self.run.path / "training" / cell_slug(self.cell)
        directory.mkdir(parents=True, exist_ok=True)
        overrides = dict(self.spec.settings)
        path = adapter.train(
            TrainRequest(budget=budget, directory=directory, overrides=overrides, on_progress=on_progress)
        )
        self.run.append(TrainedRecord(cell=self.cell, checkpoint=file_checkpoint(path)))
        return path

    def _play(self, policy: PolicyAdapter, todo: list[int]) -> int:
        """Play what is to be played. An environment that fails costs its own episode; the rest is played anew."""
        exit_code, lanes = 0, self.spec.num_envs
        while todo:
            try:
                self._play_all(policy, todo, lanes)
                return exit_code
            except EnvironmentFailure as error:
                recorded = self.run.episodes_of(self.cell)
                todo = [episode for episode in todo if episode not in recorded]
                if error.lane is None and lanes > 1:
                    lanes = 1  # played one by one, it shows whose failure it is
                    continue
                failed = next(episode for episode in todo if episode % lanes == (error.lane or 0))
                self.run.append(
                    FailureRecord(cell=self.cell, episode=failed, error=type(error).__name__, message=str(error))
                )
                todo.remove(failed)
                exit_code = error.exit_code
        return exit_code

    def _play_all(self, policy: PolicyAdapter, todo: list[int], lanes: int) -> None:
        steps, played = 0, self.spec.episodes - len(todo)
        with (
            closing(make_vector(self.env, lanes)) as envs,
            EpisodeFilm.of(self.spec.video and 0 in todo, self.run.path / "videos", cell_slug(self.cell)) as film,
        ):

            def on_step(playing: Any) -> None:
                nonlocal steps
                steps += int(playing.sum())
                film.shoot(envs)
                self.status.write_now_and_then(lambda: CellStatus(phase="playing", steps=steps))

            for episode in rollout(policy, envs, self.cell.seed, todo, on_step=on_step):
                film.episode_ended(episode.episode)
                self._record(episode, lanes)
                played += 1
        self.status.write(CellStatus(phase="done", done=played / self.spec.episodes, steps=steps))

    def _record(self, episode: PlayedEpisode, lanes: int) -> None:
        if not _is_a_return(episode.episode_return):
            raise EnvironmentFailure(
                f"{self.env.id} gave a return of {episode.episode_return} in episode {episode.episode}; "
                "its rewards must be numbers of a sane size",
                episode.episode % lanes,
            )
        self.run.append(
            EpisodeRecord(
                cell=self.cell,
                episode=episode.episode,
                env_seed=episode.env_seed,
                episode_return=episode.episode_return,
                length=episode.length,
                terminated=episode.terminated,
                truncated=episode.truncated,
                wall_time_s=round(episode.wall_time_s, 4),
                extras=_extras(episode.info),
            )
        )

    def _evaluate(self, adapter: AgentAdapter, todo: list[int]) -> int:
        """Let an adapter with an `evaluate` of its own play all episodes, and record those still missing."""
        started = time.perf_counter()
        self.status.write(CellStatus(phase="playing"))
        raw = adapter.evaluate(self.spec.episodes)
        wall = (time.perf_counter() - started) / self.spec.episodes
        returns, lengths = _validated(raw, self.cell.agent, self.spec.episodes)
        bad = []
        for number in todo:
            if number >= len(returns):
                continue
            value = returns[number]
            if not _is_a_return(value):
                bad.append(number)
                continue
            self.run.append(
                EpisodeRecord(
                    cell=self.cell,
                    episode=number,
                    env_seed=None,
                    episode_return=value,
                    length=lengths[number] if lengths else None,
                    terminated=None,
                    truncated=None,
                    wall_time_s=round(wall, 4),
                )
            )
        for number in bad:
            message = f"evaluate() returned {returns[number]} for episode {number}; expected a finite number"
            self.run.append(FailureRecord(cell=self.cell, episode=number, error=AgentFailure.__name__, message=message))
        if len(returns) < self.spec.episodes:
            raise AgentFailure(f"evaluate({self.spec.episodes}) returned only {len(returns)} episodes")
        return 1 if bad else 0


def _is_a_return(value: float) -> bool:
    """Finite, and small enough for its square to be."""
    return abs(value) < _LARGEST_RETURN


def _validated(raw: Any, agent: str, planned: int) -> tuple[list[float], list[int] | None]:
    expected = f"expected {{'episode_returns': [{planned} numbers]}}"
    if not isinstance(raw, Mapping) or "episode_returns" not in raw:
        raise AgentFailure(f"evaluate() of {agent} returned {type(raw).__name__} {str(raw)[:60]!r}; {expected}")
    returns = raw["episode_returns"]
    numbers: list[float] = []
    try:
        numbers = [float(value) for value in returns if not isinstance(value, str | bytes)]
        if len(numbers) != len(returns):
            raise TypeError("text among the numbers")
        if all(math.isfinite(value) for value in numbers):
            result = EvaluationResult.model_validate({**raw, "episode_returns": numbers})
            lengths = result.episode_lengths
        else:
            lengths = raw.get("episode_lengths")
    except (TypeError, ValueError, ValidationError) as error:
        raise AgentFailure(f"evaluate() of {agent} returned {str(returns)[:60]!r}: {error}; {expected}") from error
    if len(numbers) > planned:
        raise AgentFailure(
            f"evaluate({planned}) of {agent} returned {len(numbers)} episodes; which of them count is unknown"
        )
    if lengths is not None and len(lengths) != len(numbers):
        raise AgentFailure(f"evaluate() of {agent} returned {len(lengths)} lengths for {len(numbers)} episodes")
    return numbers, lengths


def _extras(info: Mapping[str, Any]) -> dict[str, Any]:
    """What an environment reports of a whole episode: its `info["episode_extras"]`, a dict of plain numbers."""
    extras = info.get("episode_extras", {})
    return {str(name): float(value) for name, value in extras.items()}
