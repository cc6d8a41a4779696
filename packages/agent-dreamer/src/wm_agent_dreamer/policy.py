"""A Dreamer as the core plays it: a batch of lanes, each with a memory and a random generator of its own."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.agent import DreamerAgent, PolicyState
from wm_agent_dreamer.layouts import Observation
from wm_agent_dreamer.observations import Observations
from wm_agent_dreamer.rssm import RSSMState


class DreamerPolicy:
    """Acts in n lanes (`wm_core.protocols.Acts`): the most probable action, latents drawn from the posterior.

    On a CPU each lane is computed alone, so that an episode's bits do not depend on what else is in the batch. On
    other devices lanes are computed together, and equal up to rounding.
    """

    def __init__(
        self, agent: DreamerAgent, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        self._agent = agent
        self._space = observation_space
        self._observations = Observations(observation_space)
        self._actions = actions_of(action_space)
        self._generators: list[torch.Generator] = []
        self._memories: list[PolicyState] = []
        self._is_first: NDArray[np.bool_] = np.ones(0, np.bool_)

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Clear the memory of the lanes that start, and renew their generators."""
        if len(self._generators) != len(starts):
            self._generators = [torch.Generator().manual_seed(0) for _ in starts]
            self._memories = [self._agent.initial_state(1) for _ in starts]
            self._is_first = np.ones(len(starts), np.bool_)
        for lane in np.flatnonzero(starts).tolist():
            self._generators[lane].manual_seed(int(seeds[lane]))
            self._is_first[lane] = True

    def act(self, observations: Any) -> NDArray[Any]:
        """An action a lane, as the environment takes them."""
        each = list(iterate(batch_space(self._space, len(self._generators)), observations))
        batch = self._observations.batch(each, self._agent.device)
        lanes = range(len(self._generators))
        together = self._agent.device.type != "cpu"
        groups = [list(lanes)] if together else [[lane] for lane in lanes]
        actions = np.concatenate([self._step(batch, group) for group in groups])
        self._is_first[:] = False
        return self._actions.batch([self._actions.to_env(action) for action in actions])

    def _step(self, batch: Observation, lanes: list[int]) -> NDArray[np.float32]:
        memories = [self._memories[lane] for lane in lanes]
        state = PolicyState(
            RSSMState(
                torch.cat([memory.rssm.deter for memory in memories]),
                torch.cat([memory.rssm.stoch for memory in memories]),
            ),
            torch.cat([memory.action for memory in memories]),
        )
        actions, state = self._agent.policy_step(
            Observation(
                None if batch.image is None else batch.image[lanes],
                None if batch.vector is None else batch.vector[lanes],
            ),
            state,
            is_first=torch.from_numpy(self._is_first[lanes]),
            generators=[self._generators[lane] for lane in lanes],
            mode=True,
        )
        for i, lane in enumerate(lanes):
            self._memories[lane] = PolicyState(state.rssm[i : i + 1], state.action[i : i + 1])
        return actions.cpu().numpy()
