"""What a training step is: steps of the environments, and the updates that have become due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from wm_agent_dreamer.collector import Collector
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.learner import DreamerLearner
from wm_agent_dreamer.replay import DreamerReplay


class Learning:
    """Updates of the agent, counted; the first ones are of the world model alone, where the configuration says so."""

    def __init__(
        self, learner: DreamerLearner, replay: DreamerReplay, config: TrainingConfig, generator: torch.Generator
    ) -> None:
        self._learner = learner
        self._replay = replay
        self._config = config
        self._generator = generator
        self.updates = 0

    def update(self) -> dict[str, Tensor]:
        """One update on a batch of the replay; scalars to report."""
        self._learner.world_model_only = self.updates < self._config.world_model_first_updates
        batch = self._replay.sample(self._config.batch_size, self._config.sequence_length)
        metrics = self._learner.update(batch, self._generator)
        self.updates += 1
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """How many updates there were, and the optimizers."""
        optimizers = {name: each.state_dict() for name, each in self._learner.optimizers.items()}
        return {"updates": self.updates, "optimizers": optimizers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put them back."""
        self.updates = state["updates"]
        for name, each in self._learner.optimizers.items():
            each.load_state_dict(state["optimizers"][name])


class Interaction:
    """Collects, and learns at the rate that the configuration sets."""

    def __init__(self, collector: Collector, learning: Learning, config: TrainingConfig) -> None:
        self._collector = collector
        self._learning = learning
        self._config = config
        self._steps = 0
        """Environment steps since the prefill."""

    def step(self) -> Mapping[str, Tensor | float]:
        """One step of each environment and the updates due after it; of several updates, the last one's scalars."""
        metrics: dict[str, Tensor | float] = dict(self._collector.step(self._learning.updates))
        self._steps += self._config.num_envs
        while self._learning.updates < self._config.updates_due(self._steps):
            metrics |= self._learning.update()
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """How far it has come."""
        return {"steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put it back."""
        self._steps = state["steps"]
