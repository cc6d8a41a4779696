"""Agents and environments that go wrong, each in one way. Loaded by the tests with `--plugin`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np

from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext, TrainProgress, TrainRequest
from wm_core.random_policy import RandomPolicy
from wm_core.specs import AgentManifest, EnvManifest, EnvSpec


class Evaluates:
    """An adapter with an `evaluate` of its own: returns what the class says."""

    result: Any = None

    def __init__(self, context: AdapterContext) -> None:
        self.context = context

    def load_checkpoint(self, path: Path) -> None:
        if path.read_bytes()[:4] != b"good":
            raise CheckpointError(f"{path} is not a checkpoint of this agent; give one that is")

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        result = self.result
        return result(num_episodes) if callable(result) else result


class Constant(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [self.context.seed + i / 10 for i in range(num_episodes)]}


class ReturnsNaN(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [math.nan if i == 1 else 1.0 for i in range(num_episodes)]}


class ReturnsText(Evaluates):
    result = "all went well"


class ReturnsWords(Evaluates):
    result = MappingProxyType({"episode_returns": ["1.0", "two"]})


class ReturnsFewer(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [1.0] * (num_episodes - 1)}


class ReturnsMore(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [1.0] * (num_episodes + 1)}


class Raises(RandomPolicy):
    def act(self, observations: Any) -> Any:
        raise RuntimeError("the policy broke\nover two lines")


class ActsOutside(RandomPolicy):
    def act(self, observations: Any) -> Any:
        return np.full(len(observations), 99)


class Slow(RandomPolicy):
    """Random, but takes its time, so that there is something to kill."""

    def act(self, observations: Any) -> Any:
        time.sleep(0.002)
        return super().act(observations)


class Suicidal(RandomPolicy):
    """Its process dies without a word."""

    def act(self, observations: Any) -> Any:
        os.kill(os.getpid(), 9)


class Exits(RandomPolicy):
    """Its author meant to stop a script."""

    def act(self, observations: Any) -> Any:
        raise SystemExit(3)


class Prints(RandomPolicy):
    """Talks on standard output."""

    def act(self, observations: Any) -> Any:
        print("thinking")
        return super().act(observations)


class ChangesDirectory(RandomPolicy):
    """As agents with a configuration framework do."""

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        os.chdir("/")


class DiesQuietly(RandomPolicy):
    def act(self, observations: Any) -> Any:
        os._exit(0)


class SpeaksGibberish(RandomPolicy):
    def act(self, observations: Any) -> Any:
        raise RuntimeError("a name that is not text: \udcff")


class ReturnsHuge(Evaluates):
    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [1.7e308] * num_episodes}


class Learner(RandomPolicy):
    """Training writes a file; the weights are its content."""

    def train(self, request: TrainRequest) -> Path:
        path = request.directory / "weights.txt"
        trained = int(path.read_text()) if path.exists() else 0
        request.on_progress(TrainProgress(done=0.5, steps=10, message="halfway"))
        path.write_text(str(trained + (request.budget.epochs or 0)))
        return path

    def load_checkpoint(self, path: Path) -> None:
        try:
            self.weights = int(path.read_text())
        except ValueError as error:
            raise CheckpointError(f"{path} is not a checkpoint of learner; train one") from error


class Wants32(Learner):
    """Its checkpoints say what they were trained on."""

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        return {"image_size": (32, 32)}


class Crashing(gymnasium.Env[Any, Any]):
    """Episodes whose seed is a multiple of three raise in their third step."""

    observation_space = gymnasium.spaces.Box(0, 255, (4, 4, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, nan: bool = False) -> None:
        self.nan = nan

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.bad = seed is not None and seed % 3 == 0
        self.steps = 0
        return self.observation_space.low, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.bad and self.steps == 3 and not self.nan:
            raise OSError("the game went away")
        reward = math.nan if self.bad and self.nan else 1.0
        return self.observation_space.low, reward, self.steps == 5, False, {}


class CrashingBackend:
    def ids(self) -> Sequence[str]:
        return ["faulty/Crashing-v0", "faulty/NaN-v0"]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def resolve(self, game: str) -> EnvSpec:
        if game not in self.ids():
            raise UsageError(f"no {game}")
        return EnvSpec(requested=game, id=game, backend="faulty")

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        return Crashing(nan="NaN" in spec.id)


def _agent(cls: type, **fields: Any) -> AgentManifest:
    fields.setdefault("needs_checkpoint", False)
    name = cls.__name__.lower()
    return AgentManifest(name=name, adapter=f"{Path(__file__).resolve()}:{cls.__name__}", **fields)


CONSTANT = _agent(Constant)
NEEDS = _agent(Evaluates, needs_checkpoint=True, presets=("tiny",))
RETURNS_NAN = _agent(ReturnsNaN)
RETURNS_TEXT = _agent(ReturnsText)
RETURNS_WORDS = _agent(ReturnsWords)
RETURNS_FEWER = _agent(ReturnsFewer)
RETURNS_MORE = _agent(ReturnsMore)
RAISES = _agent(Raises)
ACTS_OUTSIDE = _agent(ActsOutside)
SLOW = _agent(Slow)
SUICIDAL = _agent(Suicidal)
EXITS = _agent(Exits)
CHANGES_DIRECTORY = _agent(ChangesDirectory)
DIES_QUIETLY = _agent(DiesQuietly)
SPEAKS_GIBBERISH = _agent(SpeaksGibberish)
RETURNS_HUGE = _agent(ReturnsHuge)
PRINTS = _agent(Prints)
LEARNER = _agent(Learner, needs_checkpoint=True, capabilities=("evaluate", "train"))
WANTS_32 = _agent(Wants32, needs_checkpoint=True, capabilities=("evaluate", "train"))
FAULTY_ENVS = EnvManifest(name="faulty", backend=f"{Path(__file__).resolve()}:CrashingBackend", patterns=("faulty/*",))
