"""The policy in the real environments, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_dreamer.actions import Actions
from wm_agent_dreamer.agent import DreamerAgent, PolicyState
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.observations import Observations, Stored, to_networks
from wm_agent_dreamer.replay import DreamerReplay
from wm_agent_dreamer.rssm import RSSMState
from wm_torchkit.env_state import ReplayableEnv


class Collector:
    """Takes steps in all environments at once, which go on from epoch to epoch, and stores them.

    The prefill is uniform; the policy's memory begins with its own first step. Its actions are sampled, and explore
    further as `TrainingConfig` says. Latents and actions draw from `generator`.
    """

    def __init__(
        self,
        agent: DreamerAgent,
        envs: Sequence[ReplayableEnv],
        observations: Observations,
        actions: Actions,
        replay: DreamerReplay,
        config: TrainingConfig,
        rng: np.random.Generator,
        generator: torch.Generator,
    ) -> None:
        self._agent = agent
        self._envs = envs
        self._observations = observations
        self._actions = actions
        self._replay = replay
        self._config = config
        self._rng = rng
        self._generator = generator
        self._memory = agent.initial_state(len(envs))
        self._is_first = np.ones(len(envs), np.bool_)
        """Whether the policy's memory of a lane begins with the next step."""
        self._seen: list[Stored | None] = [None] * len(envs)
        self._returns = np.zeros(len(envs))

    def prefill_step(self) -> dict[str, float]:
        """One uniform step of each environment; the mean return of episodes that end with it."""
        self._begin_episodes()
        return self._step([self._actions.uniform(self._rng) for _ in self._envs])

    def step(self, updates: int) -> dict[str, float]:
        """One step of each environment with the policy as it is after so many updates; returns as above."""
        self._begin_episodes()
        actions, self._memory = self._agent.policy_step(
            self._batch(),
            self._memory,
            is_first=torch.from_numpy(self._is_first.copy()),
            generators=[self._generator] * len(self._envs),
        )
        self._is_first[:] = False
        chosen = self._explored(actions.cpu().numpy(), self._config.exploration(updates))
        self._memory = PolicyState(self._memory.rssm, torch.from_numpy(chosen).to(self._agent.device))
        return self._step(list(chosen))

    def state_dict(self) -> dict[str, Any]:
        """The policy's memory and the returns of the episodes in progress."""
        rssm = self._memory.rssm
        return {
            "deter": rssm.deter,
            "stoch": rssm.stoch,
            "action": self._memory.action,
            "is_first": self._is_first.copy(),
            "returns": self._returns.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put them back; call it after the environments have been."""
        device = self._agent.device
        rssm = RSSMState(state["deter"].to(device), state["stoch"].to(device))
        self._memory = PolicyState(rssm, state["action"].to(device))
        self._is_first, self._returns = state["is_first"].copy(), state["returns"].copy()
        self._seen = [None if env.episode_over else self._observations.store(env.observation) for env in self._envs]

    def _begin_episodes(self) -> None:
        for lane, env in enumerate(self._envs):
            if env.episode_over:
                observation, _ = env.reset()
                self._seen[lane] = stored = self._observations.store(observation)
                self._replay.begin_episode(stored, lane)
                self._is_first[lane], self._returns[lane] = True, 0.0

    def _batch(self) -> Any:
        frames = [each.frame for each in self._seen if each is not None and each.frame is not None]
        vectors = [each.vector for each in self._seen if each is not None and each.vector is not None]
        return to_networks(
            torch.from_numpy(np.stack(frames)) if frames else None,
            torch.from_numpy(np.stack(vectors)) if vectors else None,
            self._agent.device,
        )

    def _explored(self, actions: NDArray[np.float32], epsilon: float) -> NDArray[np.float32]:
        """Noise on continuous actions, a uniform one in place of some discrete ones."""
        layout = self._actions.layout
        if layout.kind == "continuous":
            if self._config.action_noise == 0:
                return actions
            noise = self._rng.normal(0.0, self._config.action_noise, actions.shape)
            return np.clip(actions + noise, -1, 1).astype(np.float32)
        if epsilon == 0:
            return actions
        explores = self._rng.random(len(actions)) < epsilon
        uniform = np.stack([self._actions.uniform(self._rng) for _ in actions])
        return np.where(explores[:, None], uniform, actions)

    def _step(self, actions: Sequence[NDArray[np.float32]]) -> dict[str, float]:
        ended = []
        for lane, (env, action) in enumerate(zip(self._envs, actions, strict=True)):
            observation, reward, terminated, truncated, _ = env.step(self._actions.to_env(action))
            self._seen[lane] = stored = self._observations.store(observation)
            self._replay.add_step(action, float(reward), terminated, truncated, stored, lane)
            self._returns[lane] += float(reward)
            if terminated or truncated:
                ended.append(self._returns[lane])
        return {"episode_return": float(np.mean(ended))} if ended else {}
