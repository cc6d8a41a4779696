"""IRIS as the core plays it: a batch of lanes, each with a memory and a random generator of its own."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_torchkit.sampling import sample


class IRISPolicy:
    """Acts in n lanes (`wm_core.protocols.Acts`), sampling at the evaluation temperature.

    On a CPU each lane is computed alone, so that an episode's bits do not depend on what else is in the batch. On
    other devices lanes are computed together, and equal up to rounding.
    """

    def __init__(
        self, agent: IRISAgent, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        self._agent = agent
        self._frames = ObservationFrames(observation_space, agent.config.tokenizer.image_size)
        _, self._first_action = discrete_actions(action_space)
        self._generators: list[torch.Generator] = []
        self._memory = agent.actor_critic.initial_state(0)

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Clear the memory of the lanes that start, and renew their generators."""
        if len(self._generators) != len(starts):
            self._generators = [torch.Generator().manual_seed(0) for _ in starts]
            self._memory = self._agent.actor_critic.initial_state(len(starts)).detach()
        for lane in np.flatnonzero(starts).tolist():
            self._generators[lane].manual_seed(int(seeds[lane]))
            self._memory[:, :, lane] = 0

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane, numbered as the environment numbers them."""
        frames = to_channels_first(np.stack([self._frames(each) for each in observations]), self._agent.device)
        logits = self._logits(frames).cpu()
        temperature = self._agent.config.imagination.evaluation_temperature
        lanes = zip(logits, self._generators, strict=True)
        actions = [int(sample(each, generator, temperature)) for each, generator in lanes]
        return np.array(actions, np.int64) + self._first_action

    def _logits(self, frames: Tensor) -> Tensor:
        """(n, A), and the memory moves on."""
        together = self._agent.device.type != "cpu"
        if together:
            logits, self._memory = self._agent.policy(frames, self._memory)
            return logits
        alone = [self._agent.policy(frames[i : i + 1], self._memory[:, :, i : i + 1]) for i in range(len(frames))]
        self._memory = torch.cat([memory for _, memory in alone], dim=2)
        return torch.cat([logits for logits, _ in alone])
