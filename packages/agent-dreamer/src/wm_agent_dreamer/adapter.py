"""The Dreamers as wmbench sees them: they load, play, train and dream."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.dreams import dream
from wm_agent_dreamer.environments import training_spec
from wm_agent_dreamer.observations import Observations
from wm_agent_dreamer.player import require_fit
from wm_agent_dreamer.policy import DreamerPolicy
from wm_agent_dreamer.presets import default_preset, image_size, preset
from wm_agent_dreamer.settings import with_overrides, within_budget
from wm_agent_dreamer.trainer import DreamerTrainer
from wm_core.adapter import PolicyAdapter
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import LOG_DIR, AdapterContext, Imagination, TrainRequest
from wm_torchkit.checkpoint import read_header

_SEEN = ("observation", "image_size", "resize", "frame_skip", "frame_stack")
"""Fields of the EnvSpec that an agent trained on cannot do without."""


class DreamerAdapter(PolicyAdapter):
    """Plays the most probable action, with latents drawn from the posterior by each lane's own generator.

    Without a checkpoint the weights are fresh, of the context's preset and seed.
    """

    name: ClassVar[str]
    """Which version it is."""

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        self._actions = actions_of(self.action_space)
        self._observations = Observations(self.observation_space)
        self._loaded: DreamerAgent | None = None
        self._policy: DreamerPolicy | None = None

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        """What a checkpoint was trained to see; without one, the built-in Catch in the size of a preset."""
        if checkpoint is not None:
            header = read_header(checkpoint)
            if header.agent != cls.name:
                raise CheckpointError(
                    f"{checkpoint} is a checkpoint of '{header.agent}', not of '{cls.name}'; use --agent {header.agent}"
                )
            if header.env.get("backend") == backend:
                return {name: header.env[name] for name in _SEEN if header.env.get(name) is not None}
        if backend != "catch":
            return {}
        return {"image_size": image_size(preset or default_preset(cls.name, backend))}

    @property
    def agent(self) -> DreamerAgent:
        """The networks; fresh ones until a checkpoint is loaded."""
        if self._loaded is None:
            self._loaded = DreamerAgent.from_config(
                self._preset(),
                observation=self._observations.layout,
                action=self._actions.layout,
                device=self.context.device,
                seed=self.context.seed,
            )
        return self._loaded

    def load_checkpoint(self, path: Path) -> None:
        """Load an agent that was trained here.

        `CheckpointError` when it is missing, damaged, of another agent, or for other observations or actions.
        """
        agent = checkpoint.load(path, self.name, self.context.device)
        require_fit(agent, self.observation_space, self.action_space, path, self.context.env.id)
        self._loaded, self._policy = agent, None

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` is true."""
        if self._policy is None:
            self._policy = DreamerPolicy(self.agent, self.observation_space, self.action_space)
        self._policy.reset(starts, seeds)

    def act(self, observations: Any) -> NDArray[Any]:
        """An action a lane."""
        if self._policy is None:
            raise UsageError("reset() comes before act()")
        return self._policy.act(observations)

    def train(self, request: TrainRequest) -> Path:
        """Train from fresh weights in the context's environment, or go on with what the directory holds.

        `budget.steps` counts environment steps, prefill included, of all `training.num_envs` environments together. An
        environment that logs its whole training has one, unless the overrides say otherwise.
        """
        config = self._preset()
        if LOG_DIR in self.context.env.options:
            config = with_overrides(config, {"training.num_envs": 1})  # its log is of one stream of episodes
        config = within_budget(with_overrides(config, request.overrides, self.name), request.budget)
        trainer = DreamerTrainer(
            training_spec(self.context.env),
            agent=self.name,
            config=config,
            directory=request.directory,
            seed=self.context.seed,
            device=self.context.device,
            evaluation_envs=max(self.context.num_envs, 8),
            on_progress=lambda progress: request.on_progress(progress.for_core()),
        )
        return trainer.train()

    def imagine(self, observations: Any, actions: NDArray[Any] | None, horizon: int, seed: int) -> Imagination:
        """Dream on from the last of `observations` (T, H, W, C); see `dreams.dream`."""
        generator = torch.Generator().manual_seed(seed)
        return dream(self.agent, self._observations, self._actions, observations, actions, horizon, generator)

    def _preset(self) -> DreamerConfig:
        backend = self.context.env.backend
        return preset(self.name, self.context.preset or default_preset(self.name, backend))


class DreamerV1Adapter(DreamerAdapter):
    """DreamerV1."""

    name = "dreamerv1"


class DreamerV2Adapter(DreamerAdapter):
    """DreamerV2."""

    name = "dreamerv2"


class DreamerV3Adapter(DreamerAdapter):
    """DreamerV3."""

    name = "dreamerv3"
