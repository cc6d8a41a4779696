"""The policy in the real environment. Algorithm 1, collect_experience."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import TrainingConfig
from wm_agent_iris.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_agent_iris.replay import IRISReplayBuffer
from wm_torchkit.env_state import ReplayableEnv


class Collector:
    """Takes steps in one environment, which goes on from epoch to epoch, and stores them.

    The first `prefill_steps` are uniform. After them the policy is sampled at its training temperature, and with
    chance epsilon the action is uniform.
    """

    def __init__(
        self,
        agent: IRISAgent,
        env: ReplayableEnv,
        frames: ObservationFrames,
        replay: IRISReplayBuffer,
        config: TrainingConfig,
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
        self._memory: Tensor | None = None
        """Of the policy in this episode; None at its start."""
        self._return = 0.0

    def step(self) -> dict[str, float]:
        """One environment step; the return of an episode that ends with it."""
        if self._env.episode_over:
            observation, _ = self._env.reset()
            self._replay.begin_episode(self._frames(observation))
            self._memory, self._return = None, 0.0
        action = self._choose(self._frames(self._env.observation))
        observation, reward, terminated, truncated, _ = self._env.step(self._first_action + action)
        self._replay.add_step(action, float(reward), terminated, truncated, self._frames(observation))
        self._steps += 1
        self._return += float(reward)
        return {"episode_return": self._return} if terminated or truncated else {}

    def state_dict(self) -> dict[str, Any]:
        """Steps so far, the policy's memory and the return of the episode in progress."""
        return {"steps": self._steps, "memory": self._memory, "return": self._return}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put them back."""
        self._steps, self._return = state["steps"], state["return"]
        self._memory = None if state["memory"] is None else state["memory"].to(self._agent.device)

    def _choose(self, frame: NDArray[np.uint8]) -> int:
        if self._steps < self._config.prefill_steps:
            return int(self._rng.integers(self._action_size))
        temperature = self._agent.config.imagination.temperature
        image = to_channels_first(frame[None], self._agent.device)
        actions, self._memory = self._agent.act(image, self._memory, temperature=temperature)
        explores, uniform = self._rng.random() < self._config.epsilon, int(self._rng.integers(self._action_size))
        return uniform if explores else int(actions[0])
