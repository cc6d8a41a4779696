"""A sound little agent, and agents that are like it but for one fault each."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from wm_core.adapter import PolicyAdapter
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext, TrainProgress, TrainRequest


class Sound(PolicyAdapter):
    """Its action depends on its weight, on a lane's memory and on a lane's draw."""

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        self.weight = context.seed
        self.memory = np.zeros(0, np.int64)
        self.generators: list[np.random.Generator] = []

    def reset(self, starts: np.ndarray, seeds: np.ndarray) -> None:
        if len(self.generators) != len(starts):
            self.generators = [np.random.default_rng(0) for _ in starts]
            self.memory = np.zeros(len(starts), np.int64)
        for lane in np.flatnonzero(starts):
            self.generators[lane] = np.random.default_rng(seeds[lane])
            self.memory[lane] = 0

    def draw(self) -> np.ndarray:
        return np.array([generator.integers(1000) for generator in self.generators])

    def act(self, observations: np.ndarray) -> np.ndarray:
        self.memory += observations.reshape(len(observations), -1).argmax(axis=1) + 1
        return (self.draw() + self.memory + self.weight) % self.action_space.n

    def load_checkpoint(self, path: Path) -> None:
        self.weight = self.read(path)["weight"]

    def read(self, path: Path) -> dict[str, int]:
        try:
            return dict(json.loads(path.read_text()))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} is no checkpoint") from error

    def train(self, request: TrainRequest) -> Path:
        if request.overrides:
            raise UsageError(f"no setting {request.overrides}")
        path = request.directory / "weights.json"
        if not path.exists():
            path.write_text(json.dumps({"weight": 7, "steps": request.budget.steps}))
        request.on_progress(TrainProgress(done=1.0, steps=request.budget.steps or 0))
        return path


class NoPolicy:
    def __init__(self, context: AdapterContext) -> None:
        pass

    def load_checkpoint(self, path: Path) -> None:
        raise CheckpointError("no")


class ActsOutside(Sound):
    def act(self, observations: np.ndarray) -> np.ndarray:
        return super().act(observations) + 1


class AnswersOneLane(Sound):
    def act(self, observations: np.ndarray) -> np.ndarray:
        return super().act(observations)[:1] if len(observations) > 2 else super().act(observations)


class DrawsGlobally(Sound):
    def draw(self) -> np.ndarray:
        return np.random.randint(1000, size=len(self.generators))


class TouchesGlobalState(Sound):
    def draw(self) -> np.ndarray:
        np.random.random()
        return super().draw()


class Unseeded(Sound):
    ticks = count()

    def reset(self, starts: np.ndarray, seeds: np.ndarray) -> None:
        super().reset(starts, np.array([next(self.ticks) for _ in seeds]))


class WritesToObservations(Sound):
    def act(self, observations: np.ndarray) -> np.ndarray:
        actions = super().act(observations)
        observations //= 2
        return actions


class KeepsItsMemory(Sound):
    def reset(self, starts: np.ndarray, seeds: np.ndarray) -> None:
        memory = self.memory.copy()
        super().reset(starts, seeds)
        if len(memory) == len(starts):
            self.memory = memory


class ForgetsAllLanes(Sound):
    def reset(self, starts: np.ndarray, seeds: np.ndarray) -> None:
        super().reset(starts, seeds)
        self.memory[:] = 0


class SharesItsDraws(Sound):
    def draw(self) -> np.ndarray:
        return np.cumsum(super().draw())


class KnowsNoIdleLanes(Sound):
    def reset(self, starts: np.ndarray, seeds: np.ndarray) -> None:
        super().reset(starts, seeds)
        self.started = getattr(self, "started", starts) | starts

    def act(self, observations: np.ndarray) -> np.ndarray:
        if not self.started.all():
            raise KeyError("no generator for that lane")
        return super().act(observations)


class AcceptsAnything(Sound):
    def load_checkpoint(self, path: Path) -> None:
        try:
            super().load_checkpoint(path)
        except CheckpointError:
            self.weight = 0


class RaisesValueError(Sound):
    def read(self, path: Path) -> dict[str, int]:
        if not path.exists():
            raise CheckpointError(f"no {path}")
        return dict(json.loads(path.read_text()))


class MissesMissingFiles(Sound):
    def read(self, path: Path) -> dict[str, int]:
        return super().read(path) if path.exists() else {"weight": 0}


class AcceptsHalf(Sound):
    def read(self, path: Path) -> dict[str, int]:
        if path.exists() and path.read_bytes().startswith(b'{"weight": 7'):
            return {"weight": 7}
        return super().read(path)


class LoadsNothing(Sound):
    def load_checkpoint(self, path: Path) -> None:
        self.read(path)


class Unpickles(Sound):
    def read(self, path: Path) -> dict[str, int]:
        if path.exists() and path.read_bytes().startswith(b"\x80"):
            pickle.loads(path.read_bytes())  # noqa: S301 - the fault
        return super().read(path)


class TrainsElsewhere(Sound):
    def train(self, request: TrainRequest) -> Path:
        return super().train(request).rename(request.directory.parent / "elsewhere.json")


class Overspends(Sound):
    def train(self, request: TrainRequest) -> Path:
        path = super().train(request)
        request.on_progress(TrainProgress(done=1.0, steps=(request.budget.steps or 0) + 1))
        return path


class TrainsInSilence(Sound):
    def train(self, request: TrainRequest) -> Path:
        return super().train(request.model_copy(update={"on_progress": lambda progress: None}))


class BeginsAgain(Sound):
    def train(self, request: TrainRequest) -> Path:
        path = request.directory / "weights.json"
        before = self.read(path)["weight"] if path.exists() else 0
        super().train(request)
        path.write_text(json.dumps({"weight": before + 1}))
        return path


class IgnoresSettings(Sound):
    def train(self, request: TrainRequest) -> Path:
        return super().train(request.model_copy(update={"overrides": {}}))


class Evaluates:
    """No policy: only returns."""

    def __init__(self, context: AdapterContext) -> None:
        self.context = context

    def load_checkpoint(self, path: Path) -> None:
        raise CheckpointError("there are no weights to load")

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [float(self.context.seed)] * num_episodes}


class EvaluatesFewer(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return super().evaluate(num_episodes - 1)


class EvaluatesToNaN(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [float("nan")] * num_episodes}


class EvaluatesUnseeded(Evaluates):
    ticks = count()

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [next(self.ticks) for _ in range(num_episodes)]}
