"""DIAMOND as wmbench sees it: loads, plays, trains and dreams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.checkpoint import AGENT, configuration
from wm_agent_diamond.config import DiamondConfig
from wm_agent_diamond.environments import training_spec
from wm_agent_diamond.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_agent_diamond.policy import DiamondPolicy
from wm_agent_diamond.presets import default_preset, preset
from wm_agent_diamond.replay import to_images
from wm_agent_diamond.settings import with_overrides, within_budget
from wm_agent_diamond.trainer import DiamondTrainer
from wm_core.adapter import PolicyAdapter
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext, Imagination, TrainRequest
from wm_torchkit.checkpoint import read_header

_PICTURE = ("observation", "image_size", "resize", "frame_skip")
"""Fields of the EnvSpec that an agent trained on cannot do without."""


class DiamondAdapter(PolicyAdapter):
    """Plays as published: actions sampled at temperature 1, whole games, rewards as they are.

    Without a checkpoint the weights are fresh, of the context's preset and seed.
    """

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        self._action_size, _ = discrete_actions(self.action_space)
        self._loaded: DiamondAgent | None = None
        self._policy: DiamondPolicy | None = None

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        """The picture that a checkpoint was trained on, or that a preset trains on."""
        if checkpoint is None:
            return _picture(_preset(preset, backend))
        if checkpoint.suffix != ".safetensors":
            return _picture(DiamondConfig())
        header = read_header(checkpoint)
        if header.agent != AGENT:
            raise CheckpointError(
                f"{checkpoint} is a checkpoint of '{header.agent}', not of '{AGENT}'; use --agent {header.agent}"
            )
        if header.env.get("backend") != backend:
            return _picture(configuration(header, checkpoint)[0])
        return {name: header.env[name] for name in _PICTURE if header.env.get(name) is not None}

    @property
    def agent(self) -> DiamondAgent:
        """The networks; fresh ones until a checkpoint is loaded."""
        if self._loaded is None:
            config = _preset(self.context.preset, self.context.env.backend)
            self._loaded = DiamondAgent.from_config(
                config, action_size=self._action_size, device=self.context.device, seed=self.context.seed
            )
        return self._loaded

    def load_checkpoint(self, path: Path) -> None:
        """Load an agent trained here, or a published `<Game>.pt`.

        `CheckpointError` when it is missing, damaged, of another agent, or for another number of actions.
        """
        compute = None if self.context.preset is None else preset(self.context.preset).compute
        agent = DiamondAgent.from_pretrained(path, device=self.context.device, compute=compute)
        if agent.action_size != self._action_size:
            raise CheckpointError(
                f"{path} chooses among {agent.action_size} actions, and {self.context.env.id} has "
                f"{self._action_size}; use a checkpoint that was trained on this game"
            )
        self._loaded, self._policy = agent, None

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` is true."""
        if self._policy is None:
            self._policy = DiamondPolicy(self.agent, self.observation_space, self.action_space)
        self._policy.reset(starts, seeds)

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane."""
        if self._policy is None:
            raise UsageError("reset() comes before act()")
        return self._policy.act(observations)

    def train(self, request: TrainRequest) -> Path:
        """Train from fresh weights in the context's environment, or go on with what the directory holds.

        `budget.steps` counts environment steps, the initial ones included. Collection is in one environment, as
        published.
        """
        config = _preset(self.context.preset, self.context.env.backend)
        config = within_budget(with_overrides(config, request.overrides), request.budget)
        trainer = DiamondTrainer(
            training_spec(self.context.env),
            config=config,
            directory=request.directory,
            seed=self.context.seed,
            device=self.context.device,
            num_envs=max(self.context.num_envs, 8),
            on_progress=lambda progress: request.on_progress(progress.for_core()),
        )
        return trainer.train()

    def imagine(
        self, observations: NDArray[np.uint8], actions: NDArray[np.int64] | None, horizon: int, seed: int
    ) -> Imagination:
        """Dream on from the last of `observations` (T, H, W, C); the earlier ones are its context.

        Where there are fewer than the model looks back on, grey frames stand in, as in training. The actions between
        the given frames are not known and taken to be the first one. Frames are (horizon, S, S, 3), S the agent's
        image size, each what its action led to; rewards are signs. `actions` (horizon,) are the environment's own
        numbers.
        """
        agent, device = self.agent, self.agent.device
        frames = ObservationFrames(self.observation_space, agent.config.denoiser.image_size)
        seen = to_images(to_channels_first(np.stack([frames(each) for each in observations]), device))
        length = agent.config.denoiser.context_frames
        context = torch.zeros(1, length, *seen.shape[1:], device=device)
        held = min(length, len(seen))
        context[0, length - held :] = seen[len(seen) - held :]
        _, first = discrete_actions(self.action_space)
        given = None if actions is None else torch.from_numpy(np.asarray(actions, np.int64) - first)[None].to(device)
        dream = agent.dream(
            context,
            torch.zeros(1, length, dtype=torch.long, device=device),
            given,
            horizon,
            generator=torch.Generator(device).manual_seed(seed),
        )
        return Imagination(
            frames=dream.frames[0].cpu().numpy(),
            actions=dream.actions[0].cpu().numpy() + first,
            rewards=dream.rewards[0].cpu().numpy(),
            ends=dream.ends[0].cpu().numpy(),
        )


def _preset(name: str | None, backend: str) -> DiamondConfig:
    return preset(name if name is not None else default_preset(backend))


def _picture(config: DiamondConfig) -> dict[str, Any]:
    return {"image_size": (config.denoiser.image_size, config.denoiser.image_size)}
