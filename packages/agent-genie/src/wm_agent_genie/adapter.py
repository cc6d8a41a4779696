"""Genie as wmbench sees it: loads, plays, trains and dreams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.checkpoint import AGENT, configuration, load
from wm_agent_genie.config import GenieConfig
from wm_agent_genie.observations import ObservationFrames, discrete_actions
from wm_agent_genie.player import GeniePlayer
from wm_agent_genie.presets import default_preset, preset
from wm_agent_genie.settings import with_overrides, within_budget
from wm_agent_genie.trainer import GenieTrainer
from wm_core.adapter import PolicyAdapter
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext, Imagination, TrainRequest
from wm_torchkit.checkpoint import read_header

_PICTURE = ("observation", "image_size", "resize", "frame_skip")
"""Fields of the EnvSpec that an agent trained on cannot do without."""


class GenieAdapter(PolicyAdapter):
    """Plays with a policy cloned on latent actions and a map to real ones. The dynamics model is not used.

    Without a checkpoint the weights are fresh, of the context's preset and seed, and the map is empty: it plays
    uniformly random actions.
    """

    def __init__(self, context: AdapterContext) -> None:
        super().__init__(context)
        self._real_actions, self._first = discrete_actions(self.action_space)
        self._loaded: ActingGenie | None = None
        self._player: GeniePlayer | None = None

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        """The picture that a checkpoint was trained on, or that a preset trains on."""
        if checkpoint is None:
            return _picture(_preset(preset, backend))
        header = read_header(checkpoint)
        if header.agent != AGENT:
            raise CheckpointError(
                f"{checkpoint} is a checkpoint of '{header.agent}', not of 'genie'; use --agent {header.agent}"
            )
        if header.env.get("backend") != backend:
            return _picture(configuration(header, checkpoint)[0])
        return {name: header.env[name] for name in _PICTURE if header.env.get(name) is not None}

    @property
    def acting(self) -> ActingGenie:
        """The networks; fresh ones until a checkpoint is loaded."""
        if self._loaded is None:
            self._loaded = ActingGenie.from_config(
                _preset(self.context.preset, self.context.env.backend),
                real_actions=self._real_actions,
                device=self.context.device,
                seed=self.context.seed,
            )
        return self._loaded

    def load_checkpoint(self, path: Path) -> None:
        """Load an agent trained here.

        `CheckpointError` when it is missing, damaged, of another agent, for another number of actions, or without
        the policy or the map to act with.
        """
        acting, _ = load(path, self.context.device)
        if acting.real_actions != self._real_actions:
            raise CheckpointError(
                f"{path} chooses among {acting.real_actions} actions, and {self.context.env.id} has "
                f"{self._real_actions}; use a checkpoint that was trained on this game"
            )
        acting.require_able(path)
        self._loaded, self._player = acting, None

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` is true."""
        if self._player is None:
            self._player = GeniePlayer(self.acting, self.observation_space, self.action_space)
        self._player.reset(starts, seeds)

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane."""
        if self._player is None:
            raise UsageError("reset() comes before act()")
        return self._player.act(observations)

    def train(self, request: TrainRequest) -> Path:
        """Train from video; see `GenieTrainer`. `budget.steps` counts the steps that video is collected with."""
        config = with_overrides(_preset(self.context.preset, self.context.env.backend), request.overrides)
        trainer = GenieTrainer(
            self.context.env,
            real_actions=self._real_actions,
            config=within_budget(config, request.budget),
            directory=request.directory,
            seed=self.context.seed,
            device=self.context.device,
            on_progress=lambda progress: request.on_progress(progress.for_core()),
        )
        return trainer.train()

    def imagine(
        self, observations: NDArray[np.uint8], actions: NDArray[np.int64] | None, horizon: int, seed: int
    ) -> Imagination:
        """Dream on from `observations` (T, H, W, C) for `horizon` steps.

        `actions` (horizon,) are the environment's own numbers; each becomes the latent action that the map's labels
        saw most with it. Where None, latent actions are drawn uniformly. `Imagination.actions` are latent ones.
        """
        agent = self.acting.agent
        frames_of = ObservationFrames(self.observation_space, agent.config.image_size, agent.config.channels)
        seen = np.stack([frames_of(each) for each in observations])
        if actions is None:
            latent = np.random.default_rng(seed).integers(agent.config.latent_actions.actions, size=horizon)
        else:
            latent = self._latent(np.asarray(actions, np.int64) - self._first)
        frames = agent.imagine(seen, latent.tolist(), seed=seed)
        return Imagination(frames=frames, actions=latent)

    def _latent(self, real: NDArray[np.int64]) -> NDArray[np.int64]:
        counts = self.acting.latent_map.counts.cpu().numpy()
        if real.size and not 0 <= real.min() <= real.max() < counts.shape[1]:
            raise UsageError(
                f"actions {real.min() + self._first}..{real.max() + self._first}; the environment has "
                f"{self._first}..{self._first + counts.shape[1] - 1}"
            )
        unknown = [int(each) + self._first for each in np.unique(real) if not counts[:, each].any()]
        if unknown:
            raise UsageError(f"no label tells a latent action of the actions {unknown}; imagine with actions=None")
        best: NDArray[np.int64] = counts.argmax(axis=0)[real]
        return best


def _preset(name: str | None, backend: str) -> GenieConfig:
    return preset(name if name is not None else default_preset(backend))


def _picture(config: GenieConfig) -> dict[str, Any]:
    return {"image_size": config.image_size}
