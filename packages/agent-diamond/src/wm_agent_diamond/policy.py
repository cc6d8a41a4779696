"""DIAMOND as the core plays it: a batch of lanes, each with a memory and a random generator of its own."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.observations import ObservationFrames, discrete_actions, to_channels_first
from wm_agent_diamond.replay import to_images


class DiamondPolicy:
    """Acts in n lanes (`wm_core.protocols.Acts`), sampling at the evaluation temperature.

    Each lane is computed alone, with a generator of its own, so that an episode's bits do not depend on what else
    is in the batch.
    """

    def __init__(
        self, agent: DiamondAgent, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        self._agent = agent
        self._frames = ObservationFrames(observation_space, agent.config.denoiser.image_size)
        _, self._first_action = discrete_actions(action_space)
        self._generators: list[torch.Generator] = []
        self._memories: list[Tensor | None] = []

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Clear the memory of the lanes that start, and renew their generators."""
        if len(self._generators) != len(starts):
            self._generators = [torch.Generator(self._agent.device).manual_seed(0) for _ in starts]
            self._memories = [None] * len(starts)
        for lane in np.flatnonzero(starts).tolist():
            self._generators[lane].manual_seed(int(seeds[lane]))
            self._memories[lane] = None

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane, numbered as the environment numbers them."""
        frames = np.stack([self._frames(each) for each in observations])
        images = to_images(to_channels_first(frames, self._agent.device))
        temperature = self._agent.config.imagination.evaluation_temperature
        actions = np.empty(len(images), np.int64)
        for lane, generator in enumerate(self._generators):
            chosen, self._memories[lane] = self._agent.policy_step(
                images[lane : lane + 1], self._memories[lane], generator=generator, temperature=temperature
            )
            actions[lane] = int(chosen[0])
        return actions + self._first_action
