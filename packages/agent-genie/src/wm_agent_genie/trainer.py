"""Genie learns: the tokenizer, the latent action model and the dynamics model from video, then the policy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from wm_agent_genie import checkpoint
from wm_agent_genie.acting import STUDENTS, ActingGenie
from wm_agent_genie.components import (
    CloningComponent,
    DynamicsLearning,
    LatentActionLearning,
    LearningComponent,
    TokenizerLearning,
)
from wm_agent_genie.config import GenieConfig
from wm_agent_genie.config_training import ComponentSchedule
from wm_agent_genie.labelling import agreement, fill_map
from wm_agent_genie.measures import HORIZON, MEASURES, UNMEASURED
from wm_agent_genie.metrics.world_model import evaluate_world_model
from wm_agent_genie.pictures import save_pictures
from wm_agent_genie.video_sources import open_sources
from wm_core.specs import EnvSpec
from wm_torchkit.device import allow_tf32
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.loop import Stateful, TrainingLoop
from wm_torchkit.training.progress import TrainingProgress
from wm_torchkit.training.schedule import Component, Periodic, Schedule

_LOG = logging.getLogger(__name__)

MAY_CHANGE = frozenset(
    f"training.{name}"
    for name in ("epochs", "evaluate_every", "evaluation_clips", "pictures_every", "checkpoint_every", "tensorboard")
)
"""What another value of does not make it another training."""


class GenieTrainer:
    """Trains for an environment, in `directory`, and goes on with what the directory holds.

    The environment is not acted in: all is learned from video (`training.video`, `training.expert`), which is
    collected first where there is a scripted expert and no dataset is named. Everything is drawn from `seed`.
    """

    def __init__(
        self,
        spec: EnvSpec,
        *,
        real_actions: int,
        config: GenieConfig,
        directory: str | Path = "runs/genie",
        seed: int = 0,
        device: str | torch.device = "cpu",
        on_progress: Callable[[TrainingProgress], None] = lambda progress: None,
    ) -> None:
        self.config, self.spec, self.directory = config, spec, Path(directory)
        self._device, self._on_progress = torch.device(device), on_progress
        allow_tf32(self._device)
        self._random = RandomStreams(seed)
        self.sources = open_sources(
            config, spec, real_actions, self.directory, self._random.seed("collection"), lambda steps: None
        )
        self.acting = ActingGenie.from_config(
            config, real_actions=real_actions, device=self._device, seed=self._random.seed("weights")
        )
        self._components = self._make_components()

    def train(self) -> Path:
        """Train to the end of the schedule; the last checkpoint's path. Raises what `TrainingLoop.run` raises."""
        training = self.config.training
        state: dict[str, Stateful] = {name: each for name, (each, _) in self._components.items()}
        loop = TrainingLoop(
            directory=self.directory,
            header=checkpoint.header(self.config, self.acting.real_actions, self.spec, self.sources.notes()),
            model=self.acting,
            state=state,
            random=self._random,
            schedule=Schedule(training.epochs, self._scheduled(), self._periodic()),
            device=self._device,
            checkpoint_every=training.checkpoint_every,
            may_change=MAY_CHANGE,
            tensorboard=training.tensorboard,
            on_progress=lambda progress: self._on_progress(replace(progress, env_steps=self.sources.collected_steps)),
        )
        return loop.run()

    def measure(self, epoch: int) -> dict[str, float]:
        """The world model on held-out video, and, where there is a map, how it agrees with true actions."""
        acting, training, held_out = self.acting, self.config.training, self.sources.video_held_out
        clips = held_out.windows(self.config.clip_frames, training.evaluation_clips)
        true_actions = None if clips.actions is None else torch.from_numpy(clips.actions)
        found = evaluate_world_model(
            acting.agent,
            acting.agent.tensor(clips.frames),
            true_actions,
            horizon=HORIZON,
            seed=self._random.seed("measure", epoch),
        )
        for warning in found.warnings():
            _LOG.warning("epoch %d: %s", epoch, warning)
        values = found.metrics()
        if acting.latent_map.labels:
            values["expert_agreement"], values["expert_agreement_chance"] = agreement(
                acting, self.sources.expert_held_out
            )
            if held_out.manifest.actions is not None:
                values["agreement"], values["agreement_chance"] = agreement(acting, held_out)
        taken = [values.get(name, UNMEASURED) for name in MEASURES]
        acting.measured.copy_(torch.tensor(taken, dtype=torch.float64))
        return values

    def _make_components(self) -> dict[str, tuple[LearningComponent, ComponentSchedule]]:
        acting, training, clip = self.acting, self.config.training, self.config.clip_frames
        video, expert, random = self.sources.video, self.sources.expert, self._random
        agent = acting.agent
        tokenizer = TokenizerLearning(acting, agent.tokenizer, video, training.tokenizer, random, clip)
        actions = LatentActionLearning(acting, agent.latent_action_model, video, training.latent_actions, random, clip)
        dynamics = DynamicsLearning(acting, agent.dynamics, video, training.dynamics, random, clip)
        cloning = {
            f"policy_{student}": (CloningComponent(student, acting, expert, training.policy, random), training.policy)
            for student in STUDENTS
        }
        return {
            "tokenizer": (tokenizer, training.tokenizer),
            "latent_actions": (actions, training.latent_actions),
            "dynamics": (dynamics, training.dynamics),
            **cloning,
        }

    def _scheduled(self) -> list[Component]:
        training = self.config.training

        def fill() -> dict[str, float]:
            return fill_map(self.acting, self.sources.expert, training.labels)

        def in_first_epoch_of_the_policy(epoch: int) -> int:
            return int(epoch == training.policy.start_after_epoch + 1)

        components = [
            Component(name, each.update, schedule.steps) for name, (each, schedule) in self._components.items()
        ]
        place = list(self._components).index(f"policy_{STUDENTS[0]}")
        components.insert(place, Component("latent_map", fill, in_first_epoch_of_the_policy))
        return components

    def _periodic(self) -> list[Periodic]:
        training = self.config.training
        periodic = []
        if training.evaluate_every is not None:
            periodic.append(Periodic("world_model", training.evaluate_every, self.measure))
        if training.pictures_every is not None:
            periodic.append(Periodic("pictures", training.pictures_every, self._draw))
        return periodic

    def _draw(self, epoch: int) -> dict[str, float]:
        save_pictures(self.directory / "pictures", epoch, self.acting.agent, self.sources.video_held_out)
        return {}
