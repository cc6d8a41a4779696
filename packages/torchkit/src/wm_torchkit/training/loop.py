"""The training loop. Killed at any moment and run again, it ends with the same weights as one left alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from filelock import FileLock, Timeout
from torch import nn

from wm_core.errors import CheckpointError, DiskError, StoreError, UsageError
from wm_core.protocols import LOG_DIR
from wm_torchkit.checkpoint import CheckpointHeader
from wm_torchkit.checkpoint_store import CheckpointStore, SavedTraining
from wm_torchkit.nan_guard import NonFiniteError, check_parameters
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.clock import Clock
from wm_torchkit.training.interruption import Interruption, TrainingInterrupted
from wm_torchkit.training.metrics import EpochMeans, MetricsLog
from wm_torchkit.training.progress import TrainingProgress
from wm_torchkit.training.schedule import Component, Schedule
from wm_torchkit.weights import load_weights

_LOG = logging.getLogger(__name__)
_REPORT_EVERY_S = 0.2
_WHERE_FILES_LIE = frozenset({f"env.options.{LOG_DIR}"})
"""A training may be moved."""


class Stateful(Protocol):
    """What has a state to save: optimizers, replays, environments, collectors."""

    def state_dict(self) -> Any:
        """The state in plain values, tensors and arrays (see `state_tree.py`)."""

    def load_state_dict(self, state_dict: Any) -> Any:
        """Put it back, exactly."""


@runtime_checkable
class Commits(Protocol):
    """A part that wants to know when its latest state is safely written, such as the replay."""

    def committed(self) -> None:
        """The latest `state_dict` is on disk, together with everything else."""


@dataclass
class Position:
    """The step that comes next."""

    epoch: int = 1
    component: int = 0
    step: int = 0
    updates: int = 0
    """Steps of all components so far."""
    env_steps: int = 0


class TrainingLoop:
    """Runs a schedule, saving and resuming under `directory`.

    `header` says what is trained; its counters are filled in here. `model` is what a checkpoint holds.
    `state` is everything else that changes: optimizers, replay, environment, collector, averages. `random`
    holds every generator in use. A run resumes when `directory` holds one; it must have the same
    configuration and environment, but for configuration values named in `may_change` (dotted).

    Directory: `checkpoints/`, `metrics.csv`, `tensorboard/`, and what the agent adds.
    """

    def __init__(
        self,
        *,
        directory: Path,
        header: CheckpointHeader,
        model: nn.Module,
        state: Mapping[str, Stateful],
        random: RandomStreams,
        schedule: Schedule,
        device: torch.device | None = None,
        checkpoint_every: int = 1,
        keep: int = 3,
        may_change: frozenset[str] = frozenset(),
        tensorboard: bool = False,
        on_progress: Callable[[TrainingProgress], None] = lambda progress: None,
    ) -> None:
        if checkpoint_every < 1:
            raise UsageError(f"a checkpoint every {checkpoint_every} epochs; expected at least 1")
        self._directory = directory
        self._header = header
        self._model = model
        self._random = random
        self._schedule = schedule
        self._device = device or torch.device("cpu")
        self._checkpoint_every = checkpoint_every
        self._keep = keep
        self._may_change = may_change
        self._on_progress = on_progress
        self._clock = Clock(schedule.totals(), schedule.costs())
        self._means = EpochMeans()
        self._log = MetricsLog(directory, tensorboard)
        self._state: dict[str, Stateful] = {
            **{f"agent.{name}": part for name, part in state.items()},
            "random": random,
            "clock": self._clock,
            "means": self._means,
            "log": self._log,
        }
        self._last_means: dict[str, float] = {}
        self._next_report = 0.0
        self.position = Position()

    def run(self) -> Path:
        """Train to the end of the schedule; the last checkpoint's path.

        Raises `TrainingInterrupted` on Ctrl-C or SIGTERM, after saving; `NonFiniteError` when something is
        NaN, naming the last good checkpoint; `StoreError` when another process trains here; `CheckpointError`
        or `UsageError` when what the directory holds cannot go on as this training; `DiskError` when the disk
        is full.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._directory / ".lock")
        try:
            acquired = lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(f"another process is training in {self._directory}; wait for it, or end it") from None
        with acquired:
            self._store = CheckpointStore(self._directory / "checkpoints", self._header.agent, self._keep)
            self._resume()
            with self._log, Interruption() as interruption:
                try:
                    return self._train(interruption)
                except NonFiniteError as error:
                    last = self._store.latest_path()
                    good = f"the last good checkpoint is {last}" if last else "no checkpoint was saved before"
                    raise NonFiniteError(f"epoch {self.position.epoch}: {error}; {good}") from error

    def _train(self, interruption: Interruption) -> Path:
        path = self._store.latest_path()
        while self.position.epoch <= self._schedule.epochs:
            epoch = self.position.epoch
            for index in range(self.position.component, len(self._schedule.components)):
                self._run_component(self._schedule.components[index], interruption)
                self._stop_if(interruption)
                self.position.component, self.position.step = index + 1, 0
            self._end_epoch(epoch)
            if epoch % self._checkpoint_every == 0 or epoch == self._schedule.epochs:
                path = self._save()
        if path is None:
            raise UsageError("nothing was trained")
        return path

    def _run_component(self, component: Component, interruption: Interruption) -> None:
        steps = component.steps(self.position.epoch)
        with self._random.as_global(component.name, self._device):
            while self.position.step < steps and not interruption.requested:
                started = time.perf_counter()
                self._means.add(component.name, component.step())
                self._clock.tick(component.name, time.perf_counter() - started)
                self.position.step += 1
                self.position.updates += 1
                self.position.env_steps += component.env_steps
                self._report(component.name, self.position.step, steps)

    def _end_epoch(self, epoch: int) -> None:
        for part in self._schedule.periodic:
            if part.due(epoch, self._schedule.epochs):
                self._report(part.name, 0, 1)
                started = time.perf_counter()
                with self._random.as_global(part.name, self._device):
                    self._means.add(part.name, part.call(epoch))
                self._clock.tick(part.name, time.perf_counter() - started)
        self._last_means = self._means.means()
        self._means.clear()
        self._log.write(epoch, self.position.env_steps, self._last_means)
        self.position.epoch, self.position.component, self.position.step = epoch + 1, 0, 0
        self._report("epoch", 1, 1, always=True)

    def _stop_if(self, interruption: Interruption) -> None:
        if interruption.requested:
            path = self._save()
            message = (
                f"stopped in epoch {self.position.epoch} of {self._schedule.epochs}; everything is saved "
                f"with {path}. Run the same command again to go on from exactly here"
            )
            _LOG.warning(message)
            raise TrainingInterrupted(message)

    def _save(self) -> Path:
        check_parameters(self._model)
        counters = {
            "epoch": self.position.epoch - 1,
            "updates": self.position.updates,
            "env_steps": self.position.env_steps,
        }
        header = self._header.model_copy(update={"counters": counters})
        try:
            parts = {name: part.state_dict() for name, part in self._state.items()}
        except OSError as error:
            raise DiskError(
                f"cannot save under {self._directory}: {error.strerror or error}; "
                f"the last good checkpoint is {self._store.latest_path() or 'missing, as none was saved yet'}"
            ) from error
        state = {"position": vars(self.position), "parts": parts}
        path = self._store.save(header, self._model.state_dict(), state)
        for part in self._state.values():
            if isinstance(part, Commits):
                part.committed()
        return path

    def _resume(self) -> None:
        saved = self._store.load(self._header.agent, self._header.agent_format)
        if saved is None:
            return
        self._require_same(saved)
        load_weights(self._model, saved.weights, saved.path)
        parts = saved.state["parts"]
        if parts.keys() != self._state.keys():
            differing = ", ".join(sorted(parts.keys() ^ self._state.keys()))
            raise CheckpointError(f"{saved.path} was saved with other parts of the state; differing: {differing}")
        for name, part in self._state.items():
            part.load_state_dict(parts[name])
        self.position = Position(**saved.state["position"])
        self._log.resume_at(self.position.epoch)
        _LOG.info("resumed from %s in epoch %d", saved.path, self.position.epoch)

    def _require_same(self, saved: SavedTraining) -> None:
        was = _dotted({**saved.header.config, "env": saved.header.env})
        now = _dotted({**self._header.config, "env": self._header.env})
        compared = (was.keys() | now.keys()) - self._may_change - _WHERE_FILES_LIE
        differing = sorted(name for name in compared if was.get(name) != now.get(name))
        if differing:
            listed = "; ".join(f"{name} was {was.get(name)!r}, is {now.get(name)!r}" for name in differing[:5])
            raise UsageError(
                f"{self._directory} holds a training with other values ({len(differing)}): {listed}. "
                "Use those values to go on, or another directory to train anew"
            )

    def _report(self, part: str, step: int, steps: int, always: bool = False) -> None:
        now = time.monotonic()
        if now < self._next_report and not always:
            return
        self._next_report = now + _REPORT_EVERY_S
        self._on_progress(
            TrainingProgress(
                done=self._clock.done,
                seconds_left=self._clock.seconds_left,
                all_measured=self._clock.all_measured,
                epoch=min(self.position.epoch, self._schedule.epochs),
                epochs=self._schedule.epochs,
                part=part,
                step=step,
                steps=steps,
                env_steps=self.position.env_steps,
                metrics=self._last_means,
            )
        )


def _dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _dotted(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
