"""IRIS as wmbench sees it: loads, plays, trains and dreams."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.checkpoint import AGENT, configuration
from wm_agent_iris.config import IRISConfig
from wm_agent_iris.environments import training_spec
from wm_agent_iris.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_agent_iris.policy import IRISPolicy
from wm_agent_iris.presets import default_preset, preset
from wm_agent_iris.settings import with_overrides, within_budget
from wm_agent_iris.trainer import IRISTrainer
from wm_core.adapter import PolicyAdapter
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext, Imagination, TrainRequest
from wm_torchkit.checkpoint import read_header
from wm_torchkit.frames import to_uint8

_LOG = logging.getLogger(__name__)

_PICTURE = ("observation", "image_size", "resize", "frame_skip")
"""Fields of the EnvSpec that an agent trained on cannot do without."""


class IRISAdapter(PolicyAdapter):
    """Plays as published: actions sampled at temperature 0.5, the policy sees reconstructions.

    Without a checkpoint the weights are fresh, of the context's preset and seed.
    """

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        self._action_size, _ = discrete_actions(self.action_space)
        self._loaded: IRISAgent | None = None
        self._policy: IRISPolicy | None = None

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        """The picture that a checkpoint was trained on, or that a preset trains on."""
        if checkpoint is None:
            return _picture(_preset(preset, backend))
        if checkpoint.suffix != ".safetensors":
            return _picture(IRISConfig())
        header = read_header(checkpoint)
        if header.agent != AGENT:
            raise CheckpointError(
                f"{checkpoint} is a checkpoint of '{header.agent}', not of '{AGENT}'; use --agent {header.agent}"
            )
        if header.env.get("backend") != backend:
            return _picture(configuration(header, checkpoint)[0])
        return {name: header.env[name] for name in _PICTURE if header.env.get(name) is not None}

    @property
    def agent(self) -> IRISAgent:
        """The networks; fresh ones until a checkpoint is loaded."""
        if self._loaded is None:
            config = _preset(self.context.preset, self.context.env.backend)
            self._loaded = IRISAgent.from_config(
                config, action_size=self._action_size, device=self.context.device, seed=self.context.seed
            )
        return self._loaded

    def load_checkpoint(self, path: Path) -> None:
        """Load an agent trained here, or a published `last.pt`.

        `CheckpointError` when it is missing, damaged, of another agent, or for another number of actions.
        """
        compute = None if self.context.preset is None else preset(self.context.preset).compute
        agent = IRISAgent.from_pretrained(path, device=self.context.device, compute=compute)
        if agent.action_size != self._action_size:
            raise CheckpointError(
                f"{path} chooses among {agent.action_size} actions, and {self.context.env.id} has "
                f"{self._action_size}; use a checkpoint that was trained on this game"
            )
        self._loaded, self._policy = agent, None

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` is true."""
        if self._policy is None:
            self._policy = IRISPolicy(self.agent, self.observation_space, self.action_space)
        self._policy.reset(starts, seeds)

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane."""
        if self._policy is None:
            raise UsageError("reset() comes before act()")
        return self._policy.act(observations)

    def train(self, request: TrainRequest) -> Path:
        """Train from fresh weights in the context's environment, or go on with what the directory holds.

        `budget.steps` counts environment steps, prefill included. Collection is in one environment, as published.
        """
        config = _preset(self.context.preset, self.context.env.backend)
        config = within_budget(with_overrides(config, request.overrides), request.budget)
        trainer = IRISTrainer(
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
        """Dream on from the last of `observations` (T, H, W, C); the earlier ones build the policy's memory.

        Frames are (horizon, S, S, 3), S the agent's image size, each what its action led to. Rewards are signs
        where the agent learned signs. `actions` (horizon,) are the environment's own numbers.
        """
        frames = ObservationFrames(self.observation_space, self.agent.config.tokenizer.image_size)
        seen = to_channels_first(np.stack([frames(each) for each in observations]), self.agent.device)
        _, first = discrete_actions(self.action_space)
        given = None if actions is None else torch.from_numpy(np.asarray(actions, np.int64) - first)
        dream = self.agent.imagine_rollout(
            seen[-1:],
            horizon=horizon,
            burn_in_frames=seen[None, :-1],
            actions=None if given is None else given[None].to(self.agent.device),
            generator=torch.Generator(self.agent.device).manual_seed(seed),
            temperature=self.agent.config.imagination.temperature,
        )
        assert dream.last_frame is not None
        following = torch.cat([dream.frames[0, 1:], dream.last_frame])
        return Imagination(
            frames=to_uint8(following).cpu().numpy(),
            actions=dream.actions[0].cpu().numpy() + first,
            rewards=dream.rewards[0].cpu().numpy(),
            ends=dream.ends[0].cpu().numpy(),
        )


def _preset(name: str | None, backend: str) -> IRISConfig:
    return preset(name if name is not None else default_preset(backend))


def _picture(config: IRISConfig) -> dict[str, Any]:
    return {"image_size": (config.tokenizer.image_size, config.tokenizer.image_size)}
