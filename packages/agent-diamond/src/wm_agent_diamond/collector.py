"""The policy in the real environment."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config_training import CollectionConfig
from wm_agent_diamond.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_agent_diamond.replay import DiamondReplayBuffer, to_images
from wm_torchkit.env_state import ReplayableEnv


class Collector:
    """Takes steps in one environment, which goes on from epoch to epoch, and stores them.

    The initial collection lasts from `initial_steps` to `max_initial_steps`, in whole epochs: until enough steps
    have a reward whose sign is not the commonest one. What is never seen cannot be dreamed of. It stops at the
    latest where all collection does.
    """

    def __init__(
        self,
        agent: DiamondAgent,
        env: ReplayableEnv,
        frames: ObservationFrames,
        replay: DiamondReplayBuffer,
        config: CollectionConfig,
        rng: np.random.Generator,
    ) -> None:
        self._agent = agent
        self._env = env
        self._frames = frames
        self._replay = replay
        self._config = config
        self._rng = rng
        self._action_size, self._first_action = discrete_actions(env.action_space)
        self._steps = 0
        self._signs: Counter[str] = Counter()
        """Steps by the sign of their reward."""
        self._initial: int | None = None
        """Steps of the initial collection, once it is over."""
        self._memory: Tensor | None = None
        """Of the policy in this episode; None at its start."""
        self._return = 0.0

    def step(self) -> dict[str, float]:
        """One environment step; the return of an episode that ends with it."""
        if self._initial is None and self._is_enough():
            self._initial = self._steps
        if self._env.episode_over:
            observation, _ = self._env.reset()
            self._replay.begin_episode(self._frames(observation))
            self._memory, self._return = None, 0.0
        action = self._choose(self._frames(self._env.observation))
        observation, reward, terminated, truncated, _ = self._env.step(self._first_action + action)
        self._replay.add_step(action, float(reward), terminated, truncated, self._frames(observation))
        self._steps += 1
        self._signs[str(int(np.sign(reward)))] += 1
        self._return += float(reward)
        if self._initial is None and self._steps == self._config.max_env_steps:
            self._initial = self._steps
        return {"episode_return": self._return} if terminated or truncated else {}

    def training_epoch(self, epoch: int) -> int:
        """Which epoch of training that epoch is, from 1; below 1, it only collects.

        While the initial collection goes on, the answer is as if it ended as early as it still can.
        """
        settings = self._config
        if self._initial is not None:
            over = min((self._initial - settings.initial_steps) // settings.steps_per_epoch + 1, settings.epochs)
        else:
            over = -((settings.initial_steps - self._steps) // settings.steps_per_epoch) + 1
        return epoch - max(over, 1) + 1

    def state_dict(self) -> dict[str, Any]:
        """Counts so far, the policy's memory and the return of the episode in progress."""
        return {
            "steps": self._steps,
            "signs": dict(self._signs),
            "initial": self._initial,
            "memory": self._memory,
            "return": self._return,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put them back."""
        self._steps, self._initial, self._return = state["steps"], state["initial"], state["return"]
        self._signs = Counter(state["signs"])
        self._memory = None if state["memory"] is None else state["memory"].to(self._agent.device)

    def _is_enough(self) -> bool:
        settings = self._config
        beyond = self._steps - settings.initial_steps
        if beyond < 0 or beyond % settings.steps_per_epoch:
            return False
        rare = self._steps - max(self._signs.values(), default=0)
        return rare >= settings.min_rare_rewards or self._steps >= settings.max_initial_steps

    def _choose(self, frame: NDArray[np.uint8]) -> int:
        if self._initial is None and self._config.initial_actions == "uniform":
            return int(self._rng.integers(self._action_size))
        image = to_images(to_channels_first(frame[None], self._agent.device))
        actions, self._memory = self._agent.policy_step(image, self._memory, temperature=self._config.temperature)
        explores, uniform = self._rng.random() < self._config.epsilon, int(self._rng.integers(self._action_size))
        return uniform if explores else int(actions[0])
