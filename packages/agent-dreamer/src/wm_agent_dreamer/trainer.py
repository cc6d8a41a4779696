"""Dreamer learns: it acts, models what it saw, and improves its behaviour in imagination."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import torch

from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.collector import Collector
from wm_agent_dreamer.components import Interaction, Learning
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.environments import env_spec, evaluation_lanes, training_envs
from wm_agent_dreamer.epochs import Epochs
from wm_agent_dreamer.health import HealthWatch
from wm_agent_dreamer.learner import DreamerLearner
from wm_agent_dreamer.observations import Observations
from wm_agent_dreamer.pictures import save_pictures
from wm_agent_dreamer.plugin import MANIFESTS
from wm_agent_dreamer.policy import DreamerPolicy
from wm_agent_dreamer.replay import DreamerReplay
from wm_agent_dreamer.settings import MAY_CHANGE
from wm_core.errors import UsageError
from wm_core.rollout import rollout
from wm_core.specs import EnvSpec
from wm_torchkit.device import allow_tf32
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.loop import Stateful, TrainingLoop
from wm_torchkit.training.progress import TrainingProgress
from wm_torchkit.training.schedule import Component, Periodic, Schedule

_PICTURES, _PICTURE_STEPS = 4, 30
"""Stretches that are pictured, and how long they are at most."""
_IMAGE_SIZE = (64, 64)


class DreamerTrainer:
    """Trains an agent on a game, in `directory`, and goes on with what the directory holds.

    `agent` is 'dreamerv1', 'dreamerv2' or 'dreamerv3', and names the checkpoints; what is trained is `config`. `game`
    is an id or an `EnvSpec`. `env` is a function that makes a Gymnasium environment, which must repeat itself given
    seed and actions. Give one of the two, or both where `game` is a name for the environment. Everything is drawn from
    `seed`.
    """

    def __init__(
        self,
        game: str | EnvSpec | None = None,
        *,
        agent: str = "dreamerv3",
        config: DreamerConfig,
        env: Callable[[], gymnasium.Env[Any, Any]] | None = None,
        directory: str | Path = "runs/dreamer",
        seed: int = 0,
        device: str | torch.device = "cpu",
        evaluation_envs: int = 8,
        image_size: tuple[int, int] = _IMAGE_SIZE,
        on_progress: Callable[[TrainingProgress], None] = lambda progress: None,
    ) -> None:
        if agent not in MANIFESTS:
            raise UsageError(f"there is no '{agent}' among the Dreamers; choose one of {', '.join(MANIFESTS)}")
        self.name = agent
        self.config = config
        self.directory = Path(directory)
        self._device = torch.device(device)
        self._on_progress = on_progress
        self._evaluation_envs = evaluation_envs
        self._epochs = Epochs(config.training)
        allow_tf32(self._device)

        self.spec = env_spec(game, env, MANIFESTS[agent], image_size)
        self._make_env = env
        self._random = RandomStreams(seed)
        training = config.training
        self._envs = training_envs(self.spec, env, training.num_envs, self._random)
        observations, actions = Observations(self._envs[0].observation_space), actions_of(self._envs[0].action_space)
        self.agent = DreamerAgent.from_config(
            config,
            observation=observations.layout,
            action=actions.layout,
            device=self._device,
            seed=self._random.seed("weights"),
        )
        self.replay = DreamerReplay(
            observations,
            actions,
            training,
            self._random.numpy_generator("replay"),
            self.directory / "replay",
            self._device,
        )
        self._collector = Collector(
            self.agent,
            self._envs,
            observations,
            actions,
            self.replay,
            training,
            self._random.numpy_generator("collection"),
            self._random.torch_generator("acting"),
        )
        self.learning = Learning(
            DreamerLearner(self.agent),
            self.replay,
            training,
            self._random.torch_generator("learning", self._device),
        )
        self._interaction = Interaction(self._collector, self.learning, training)
        self._health = HealthWatch(actions.layout)

    def train(self) -> Path:
        """Train to the end of the schedule; the last checkpoint's path. Raises what `TrainingLoop.run` raises."""
        try:
            return self._loop().run()
        finally:
            for env in self._envs:
                env.close()

    def evaluate(self, epoch: int) -> dict[str, float]:
        """Mean return of the policy over `training.evaluation_episodes`, as it is measured."""
        episodes = self.config.training.evaluation_episodes
        with closing(evaluation_lanes(self.spec, self._make_env, min(self._evaluation_envs, episodes))) as lanes:
            policy = DreamerPolicy(self.agent, lanes.single_observation_space, lanes.single_action_space)
            seed = self._random.seed("evaluation", epoch)
            returns = [each.episode_return for each in rollout(policy, lanes, seed, range(episodes))]
        return {"mean_return": sum(returns) / episodes, "min_return": min(returns), "max_return": max(returns)}

    def _loop(self) -> TrainingLoop:
        training = self.config.training
        state: dict[str, Stateful] = {
            "replay": self.replay,
            **{f"environment_{lane}": env for lane, env in enumerate(self._envs)},
            "collector": self._collector,
            "learning": self.learning,
            "interaction": self._interaction,
        }
        header = checkpoint.header(self.name, self.config, self.agent.observation, self.agent.action)
        return TrainingLoop(
            directory=self.directory,
            header=header.model_copy(update={"env": self.spec.model_dump(mode="json")}),
            model=self.agent,
            state=state,
            random=self._random,
            schedule=Schedule(self._epochs.count, self._scheduled(), self._periodic()),
            device=self._device,
            checkpoint_every=training.checkpoint_every,
            may_change=MAY_CHANGE,
            tensorboard=training.tensorboard,
            on_progress=self._report,
        )

    def _scheduled(self) -> list[Component]:
        training = self.config.training
        steps = training.num_envs
        updates = training.updates_per_step * steps
        return [
            Component("prefill", self._collector.prefill_step, self._epochs.prefill_rounds, steps, cost=0.01 * steps),
            Component("pretraining", self.learning.update, self._epochs.pretraining_updates),
            Component("training", self._interaction.step, self._epochs.rounds, steps, cost=updates + 0.02 * steps),
        ]

    def _periodic(self) -> list[Periodic]:
        training = self.config.training
        periodic = []
        if training.evaluate_every is not None:
            periodic.append(Periodic("evaluation", training.evaluate_every, self.evaluate))
        if training.pictures_every is not None and self.agent.observation.image is not None:
            periodic.append(Periodic("pictures", training.pictures_every, self._draw))
        return periodic

    def _draw(self, epoch: int) -> dict[str, float]:
        with self.replay.undisturbed():
            batch = self.replay.sample(_PICTURES, min(_PICTURE_STEPS, self.config.training.sequence_length))
        generator = torch.Generator(self._device).manual_seed(epoch)
        save_pictures(self.directory / "pictures", f"epoch-{epoch:06d}", self.agent, batch, generator)
        return {}

    def _report(self, progress: TrainingProgress) -> None:
        if progress.part == "epoch":
            self._health.look(progress.epoch, progress.metrics)
        self._on_progress(progress)
