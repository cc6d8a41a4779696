"""IRIS learns. Algorithm 1: collect, then update the tokenizer, the world model and the policy, epoch by epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import torch

from wm_agent_iris import checkpoint
from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.collector import Collector
from wm_agent_iris.components import (
    ActorCriticLearning,
    LearningComponent,
    TokenizerLearning,
    WorldModelLearning,
)
from wm_agent_iris.config import ComponentSchedule, IRISConfig
from wm_agent_iris.environments import env_spec, evaluation_lanes
from wm_agent_iris.health import HealthWatch
from wm_agent_iris.observations import ObservationFrames, discrete_actions
from wm_agent_iris.pictures import save_pictures
from wm_agent_iris.policy import IRISPolicy
from wm_agent_iris.replay import IRISReplayBuffer
from wm_agent_iris.tokenizer.lpips import LPIPSPerceptualLoss, build_perceptual_loss
from wm_core.rollout import rollout
from wm_core.specs import EnvSpec
from wm_torchkit.device import allow_tf32
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.learning_env import training_env
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.loop import Stateful, TrainingLoop
from wm_torchkit.training.progress import TrainingProgress
from wm_torchkit.training.schedule import Component, Periodic, Schedule

_LOG = logging.getLogger(__name__)

MAY_CHANGE = frozenset(
    f"training.{name}"
    for name in (
        *("epochs", "collection_epochs", "max_env_steps", "replay_capacity", "checkpoint_every"),
        *("evaluate_every", "evaluation_episodes", "pictures_every", "tensorboard"),
    )
) | {"compute.cached_reconstructions"}
"""What another value of does not make it another training."""


class IRISTrainer:
    """Trains an agent on a game, in `directory`, and goes on with what the directory holds.

    `game` is an id or an `EnvSpec`. `env` is any Gymnasium environment with discrete actions and uint8 images,
    `(H, W)`, `(H, W, C)` or `(C, H, W)`, or a function that makes one; it must repeat itself given seed and actions.
    The policy is evaluated in environments made of the `EnvSpec` or by the function; of a single environment there
    is no second one to evaluate in, and only the returns of collection are reported.

    Give one of the two, or both where `game` is a name for the environment. Everything is drawn from `seed`.
    """

    def __init__(
        self,
        game: str | EnvSpec | None = None,
        *,
        config: IRISConfig,
        env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | None = None,
        directory: str | Path = "runs/iris",
        seed: int = 0,
        device: str | torch.device = "cpu",
        num_envs: int = 8,
        on_progress: Callable[[TrainingProgress], None] = lambda progress: None,
    ) -> None:
        self.config = config
        self.directory = Path(directory)
        self._device = torch.device(device)
        self._on_progress = on_progress
        self._num_envs = num_envs
        allow_tf32(self._device)

        self.spec = env_spec(game, env, config.tokenizer.image_size)
        self._make_env = env
        self._random = RandomStreams(seed)
        self._env = ReplayableEnv(
            training_env(self.spec, env), self._random.seed("environment"), self.spec.life_loss_ends_episode
        )
        self._frames = ObservationFrames(self._env.observation_space, config.tokenizer.image_size)
        action_size, _ = discrete_actions(self._env.action_space)

        self.agent = IRISAgent.from_config(
            config, action_size=action_size, device=self._device, seed=self._random.seed("weights")
        )
        training = config.training
        self.replay = IRISReplayBuffer(
            self.agent.tokenizer,
            action_size=action_size,
            capacity=training.replay_capacity,
            rng=self._random.numpy_generator("replay"),
            directory=self.directory / "replay",
            cached_reconstructions=config.compute.cached_reconstructions,
            precision=config.compute.precision,
        )
        rng = self._random.numpy_generator("collection")
        self._collector = Collector(self.agent, self._env, self._frames, self.replay, training, rng)
        self._perceptual = self._perceptual_loss()
        self._components: dict[str, tuple[LearningComponent, ComponentSchedule]] = {
            "tokenizer": (
                TokenizerLearning(self.agent, self.replay, training.tokenizer, self._perceptual),
                training.tokenizer,
            ),
            "world_model": (WorldModelLearning(self.agent, self.replay, training.world_model), training.world_model),
            "actor_critic": (
                ActorCriticLearning(self.agent, self.replay, training.actor_critic),
                training.actor_critic,
            ),
        }
        self._health = HealthWatch(config, action_size)

    def train(self) -> Path:
        """Train to the end of the schedule; the last checkpoint's path. Raises what `TrainingLoop.run` raises."""
        try:
            return self._loop().run()
        finally:
            self._env.close()

    def evaluate(self, epoch: int) -> dict[str, float]:
        """Mean return of the policy over `training.evaluation_episodes`, at the evaluation temperature."""
        episodes = self.config.training.evaluation_episodes
        with closing(evaluation_lanes(self.spec, self._make_env, min(self._num_envs, episodes))) as lanes:
            policy = IRISPolicy(self.agent, lanes.single_observation_space, lanes.single_action_space)
            seed = self._random.seed("evaluation", epoch)
            returns = [each.episode_return for each in rollout(policy, lanes, seed, range(episodes))]
        return {"mean_return": sum(returns) / episodes, "min_return": min(returns), "max_return": max(returns)}

    def _loop(self) -> TrainingLoop:
        training = self.config.training
        state: dict[str, Stateful] = {"replay": self.replay, "environment": self._env, "collector": self._collector}
        state |= {f"{name}_optimizer": each.optimizer for name, (each, _) in self._components.items()}
        notes = {"perceptual_loss": self._perceptual.source} if self._perceptual else {}
        header = checkpoint.header(self.config, self.agent.action_size).model_copy(
            update={"env": self.spec.model_dump(mode="json"), "notes": notes}
        )
        return TrainingLoop(
            directory=self.directory,
            header=header,
            model=self.agent,
            state=state,
            random=self._random,
            schedule=Schedule(training.last_epoch(), self._scheduled(), self._periodic()),
            device=self._device,
            checkpoint_every=training.checkpoint_every,
            may_change=MAY_CHANGE,
            tensorboard=training.tensorboard,
            on_progress=self._report,
        )

    def _scheduled(self) -> list[Component]:
        collection = Component(
            "collection", self._collector.step, self.config.training.collection_steps, env_steps=1, cost=0.05
        )
        learning = [
            Component(name, each.update, schedule.updates) for name, (each, schedule) in self._components.items()
        ]
        return [collection, *learning]

    def _periodic(self) -> list[Periodic]:
        training = self.config.training
        periodic = []
        if training.evaluate_every is not None and self._can_evaluate():
            periodic.append(Periodic("evaluation", training.evaluate_every, self.evaluate))
        if training.pictures_every is not None:
            periodic.append(Periodic("pictures", training.pictures_every, self._draw))
        return periodic

    def _can_evaluate(self) -> bool:
        if not isinstance(self._make_env, gymnasium.Env):
            return True
        _LOG.warning("no evaluation during training: a single environment was given; give a function that makes it")
        return False

    def _draw(self, epoch: int) -> dict[str, float]:
        save_pictures(self.directory / "pictures", epoch, self.agent, self.replay)
        return {}

    def _report(self, progress: TrainingProgress) -> None:
        if progress.part == "epoch":
            self._health.look(progress.epoch, progress.metrics)
        self._on_progress(progress)

    def _perceptual_loss(self) -> LPIPSPerceptualLoss | None:
        if self.config.tokenizer.perceptual_weight == 0:
            return None
        named = self.config.training.perceptual_weights
        weights: Any = named if named in ("auto", "random") else Path(named)
        return build_perceptual_loss(weights).to(self._device)
