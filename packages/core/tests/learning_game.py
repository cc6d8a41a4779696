"""A backend whose game logs a learning run, and agents that learn in it, well or badly. Registered by the tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from wm_core import registry
from wm_core.envs.vector import make_vector
from wm_core.protocols import LOG_DIR, AdapterContext, LearningLog, TrainProgress, TrainRequest
from wm_core.random_policy import RandomPolicy
from wm_core.specs import AgentManifest, EnvManifest, EnvSpec

EPISODES, LENGTH = 6, 3


class Counting(gymnasium.Env[Any, Any]):
    """Episodes of three steps; the log is a JSON file of the seeds and the steps of all episodes that ended."""

    observation_space: Any = Box(0, 1, (2,), np.float32)
    action_space: Any = Discrete(2)

    def __init__(self, log: Path | None) -> None:
        self.log = log
        self.ended: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.seed, self.steps = seed, 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        over = self.steps == LENGTH
        if over and self.log is not None and len(self.ended) < EPISODES:
            self.ended.append(self.seed or 0)
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.log.write_text(json.dumps(self.ended))
        return np.zeros(2, np.float32), 1.0, over, False, {}


class CountingBackend:
    def ids(self) -> Sequence[str]:
        return ["counting/0"]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def resolve(self, game: str) -> EnvSpec:
        return EnvSpec(requested=game, id=game, backend="counting")

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        directory = spec.options.get(LOG_DIR)
        return Counting(Path(directory) / "counting.json" if directory else None)

    def recorded(self, spec: EnvSpec, directory: Path | None) -> EnvSpec:
        return spec.model_copy(update={"options": {} if directory is None else {LOG_DIR: str(directory)}})

    def learning_log(self, spec: EnvSpec, directory: Path) -> LearningLog:
        path = directory / "counting.json"
        ended = json.loads(path.read_text()) if path.exists() else []
        return LearningLog(
            files=(path,) if ended else (),
            episodes=len(ended),
            steps=LENGTH * len(ended),
            planned=EPISODES,
            most_steps=EPISODES * LENGTH,
        )


class Learner(RandomPolicy):
    """Trains for its budget in the environment that logs, and says after every step how far it is."""

    trained: list[TrainRequest] = []  # noqa: RUF012 - what the tests look at

    def load_checkpoint(self, path: Path) -> None:
        return

    def train(self, request: TrainRequest) -> Path:
        self.trained.append(request)
        self._learn(registry.load_backend(self.context.env.backend).make(self.context.env), request)
        (request.directory / "weights").write_text("1")
        return request.directory / "weights"

    def _learn(self, env: Any, request: TrainRequest) -> None:
        over = True
        for step in range(1, (request.budget.steps or 1000) + 1):
            if over:
                env.reset(seed=step)
            _, _, over, _, _ = env.step(0)
            request.on_progress(TrainProgress(done=step / (request.budget.steps or 1000), steps=step))


class LearnsElsewhere(Learner):
    """Trains in lanes that log nothing."""

    def _learn(self, env: Any, request: TrainRequest) -> None:
        make_vector(self.context.env, 1).close()


class Breaks(Learner):
    """Fails in the middle of its training."""

    def _learn(self, env: Any, request: TrainRequest) -> None:
        env.reset(seed=0)
        env.step(0)
        raise RuntimeError("the gradient exploded")


class OnlyEvaluates:
    """Plays by itself."""

    def __init__(self, context: AdapterContext) -> None:
        self.context = context

    def load_checkpoint(self, path: Path) -> None:
        return

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        return {"episode_returns": [0.0] * num_episodes}


COUNTING = EnvManifest(name="counting", backend=f"{__file__}:CountingBackend", patterns=("counting/*",))


def manifest(adapter: type) -> AgentManifest:
    """An agent of that class."""
    trains = hasattr(adapter, "train")
    return AgentManifest(
        name=adapter.__name__.lower(),
        adapter=f"{__file__}:{adapter.__name__}",
        needs_checkpoint=trains,
        capabilities=("evaluate", "train") if trains else ("evaluate",),
    )
