"""DIAMOND learns: collect, then update the denoiser, the reward/end model and the policy, epoch by epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import torch

from wm_agent_diamond import checkpoint
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.collector import Collector
from wm_agent_diamond.components import ActorCriticLearning, DenoiserLearning, LearningComponent, RewEndLearning
from wm_agent_diamond.config import DiamondConfig
from wm_agent_diamond.config_training import ComponentSchedule
from wm_agent_diamond.data.loading import load_episodes
from wm_agent_diamond.data.validation import validate
from wm_agent_diamond.environments import env_spec, evaluation_lanes
from wm_agent_diamond.games import advice
from wm_agent_diamond.health import HealthWatch
from wm_agent_diamond.observations import ObservationFrames, discrete_actions
from wm_agent_diamond.pictures import save_pictures
from wm_agent_diamond.policy import DiamondPolicy
from wm_agent_diamond.replay import DiamondReplayBuffer
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
        *("max_epochs", "final_epochs", "collection.max_env_steps", "collection.replay_capacity", "checkpoint_every"),
        "data",
        *(
            "evaluate_every",
            "evaluation_episodes",
            "final_evaluation_episodes",
            "pictures_every",
            "film",
            "tensorboard",
        ),
    )
)
"""What another value of does not make it another training. What is at `data` must be the same, wherever it lies."""
_WHERE_DATA_LIES = frozenset({"env.id", "env.requested"})
"""Without an environment, its name is that of the data."""


class DiamondTrainer:
    """Trains an agent on a game, in `directory`, and goes on with what the directory holds.

    `game` is an id or an `EnvSpec`. `env` is any Gymnasium environment with discrete actions and uint8 images,
    `(H, W)`, `(H, W, C)` or `(C, H, W)`, or a function that makes one; it must repeat itself given seed and actions.
    The policy is evaluated in environments made of the `EnvSpec` or by the function; of a single environment there
    is no second one to evaluate in, and only the returns of collection are reported.

    Give one of the two, or both where `game` is a name for the environment. `data`, or else `config.training.data`,
    are own episodes, a file or a directory (see `data/episode.py`), to learn from before anything is collected; with
    data alone nothing is, and there is nothing to evaluate in: `action_size` is how many actions the game has, one
    more than the largest in the data where it is not given. Everything is drawn from `seed`.
    """

    def __init__(
        self,
        game: str | EnvSpec | None = None,
        *,
        config: DiamondConfig,
        env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | None = None,
        data: str | Path | None = None,
        action_size: int | None = None,
        directory: str | Path = "runs/diamond",
        seed: int = 0,
        device: str | torch.device = "cpu",
        num_envs: int = 8,
        on_progress: Callable[[TrainingProgress], None] = lambda progress: None,
    ) -> None:
        self.config = config
        data = config.training.data if data is None else data
        self.directory = Path(directory)
        self._device = torch.device(device)
        self._on_progress = on_progress
        self._num_envs = num_envs
        allow_tf32(self._device)

        self._random = RandomStreams(seed)
        self._make_env = env
        self._offline = game is None and env is None and data is not None
        if self._offline:
            self.spec = EnvSpec(requested=str(data), id=Path(str(data)).stem, backend="data")
        else:
            self.spec = env_spec(game, env, config.denoiser.image_size)
        for line in advice(self.spec.id, config):
            _LOG.warning(line)
        self._env = None if self._offline else self._training_env()
        if self._env is not None:
            action_size, _ = discrete_actions(self._env.action_space)
        elif action_size is None:
            action_size = validate(Path(str(data))).action_size

        self.agent = DiamondAgent.from_config(
            config, action_size=action_size, device=self._device, seed=self._random.seed("weights")
        )
        training = config.training
        self.replay = DiamondReplayBuffer(
            config.denoiser.image_size,
            action_size=action_size,
            capacity=training.collection.replay_capacity,
            rng=self._random.numpy_generator("replay"),
            age_weights=training.age_weights,
            truncation_is_end=training.truncation_is_end,
            directory=self.directory / "replay",
            device=self._device,
        )
        self._own_data = None
        if data is not None:
            self._own_data = load_episodes(Path(data), self.replay, config.denoiser.image_size, action_size).sha256
        self._collector = None if self._env is None else self._make_collector(self._env)
        self._components = self._learning()
        self._health = HealthWatch(action_size)

    def train(self) -> Path:
        """Train to the end of the schedule; the last checkpoint's path. Raises what `TrainingLoop.run` raises."""
        try:
            return self._loop().run()
        finally:
            if self._env is not None:
                self._env.close()

    def evaluate(self, epoch: int) -> dict[str, float]:
        """Mean return of the sampled policy: over `evaluation_episodes`, and after the last epoch over more."""
        training = self.config.training
        last = epoch == training.epochs
        episodes = training.final_evaluation_episodes if last else training.evaluation_episodes
        with closing(evaluation_lanes(self.spec, self._make_env, min(self._num_envs, episodes))) as lanes:
            policy = DiamondPolicy(self.agent, lanes.single_observation_space, lanes.single_action_space)
            seed = self._random.seed("evaluation", epoch)
            returns = [each.episode_return for each in rollout(policy, lanes, seed, range(episodes))]
        return {"mean_return": sum(returns) / episodes, "min_return": min(returns), "max_return": max(returns)}

    def _training_env(self) -> ReplayableEnv:
        seed = self._random.seed("environment")
        return ReplayableEnv(training_env(self.spec, self._make_env), seed, self.spec.life_loss_ends_episode)

    def _make_collector(self, env: ReplayableEnv) -> Collector:
        frames = ObservationFrames(env.observation_space, self.config.denoiser.image_size)
        rng = self._random.numpy_generator("collection")
        return Collector(self.agent, env, frames, self.replay, self.config.training.collection, rng)

    def _learning(self) -> dict[str, tuple[LearningComponent, ComponentSchedule]]:
        agent, replay, training = self.agent, self.replay, self.config.training
        generator = {
            name: self._random.torch_generator(name, self._device)
            for name in ("denoiser", "rew_end_model", "actor_critic")
        }
        denoiser = DenoiserLearning(
            agent, replay, training.denoiser, generator["denoiser"], training.denoiser_sees_final_frames
        )
        return {
            "denoiser": (denoiser, training.denoiser),
            "rew_end_model": (
                RewEndLearning(agent, replay, training.rew_end_model, generator["rew_end_model"]),
                training.rew_end_model,
            ),
            "actor_critic": (
                ActorCriticLearning(agent, replay, training.actor_critic, generator["actor_critic"]),
                training.actor_critic,
            ),
        }

    def _loop(self) -> TrainingLoop:
        training = self.config.training
        state: dict[str, Stateful] = {"replay": self.replay}
        if self._env is not None and self._collector is not None:
            state |= {"environment": self._env, "collector": self._collector}
        state |= {name: each for name, (each, _) in self._components.items()}
        trained_in = self.spec.model_dump(mode="json") | ({"own_data": self._own_data} if self._own_data else {})
        header = checkpoint.header(self.config, self.agent.action_size).model_copy(update={"env": trained_in})
        return TrainingLoop(
            directory=self.directory,
            header=header,
            model=self.agent,
            state=state,
            random=self._random,
            schedule=Schedule(training.epochs, self._scheduled(), self._periodic()),
            device=self._device,
            checkpoint_every=training.checkpoint_every,
            may_change=MAY_CHANGE | (_WHERE_DATA_LIES if self._offline else frozenset()),
            tensorboard=training.tensorboard,
            on_progress=self._report,
        )

    def _scheduled(self) -> list[Component]:
        collection = self.config.training.collection
        costs = {"denoiser": 1.0, "rew_end_model": 0.7, "actor_critic": 8.0}
        learning = [
            Component(name, each.update, self._updates(schedule), cost=costs[name])
            for name, (each, schedule) in self._components.items()
        ]
        if self._collector is None:
            return learning
        return [Component("collection", self._collector.step, collection.steps, env_steps=1, cost=0.01), *learning]

    def _updates(self, schedule: ComponentSchedule) -> Callable[[int], int]:
        collector = self._collector
        return (
            schedule.updates if collector is None else lambda epoch: schedule.updates(collector.training_epoch(epoch))
        )

    def _periodic(self) -> list[Periodic]:
        training = self.config.training
        periodic = []
        if training.evaluate_every is not None and self._can_evaluate():
            periodic.append(Periodic("evaluation", training.evaluate_every, self.evaluate))
        if training.pictures_every is not None:
            periodic.append(Periodic("pictures", training.pictures_every, self._draw))
        return periodic

    def _can_evaluate(self) -> bool:
        if self._offline:
            return False
        if not isinstance(self._make_env, gymnasium.Env):
            return True
        _LOG.warning("no evaluation during training: a single environment was given; give a function that makes it")
        return False

    def _draw(self, epoch: int) -> dict[str, float]:
        save_pictures(
            self.directory / "pictures", epoch, self.agent, self.replay, mp4=self.config.training.film == "mp4"
        )
        return {}

    def _report(self, progress: TrainingProgress) -> None:
        if progress.part == "epoch":
            self._health.look(progress.epoch, progress.metrics)
        self._on_progress(progress)
