"""What Dreamer learns from: the stream of what was seen in each environment, and batches of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from wm_agent_dreamer.actions import Actions
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.layouts import StreamBatch
from wm_agent_dreamer.observations import Observations, Stored, to_networks
from wm_torchkit.replay import EpisodeReplay
from wm_torchkit.replay_sampling import Stream

_TRANSFORMS = {"none": lambda reward: reward, "tanh": torch.tanh, "sign": torch.sign}


class DreamerReplay:
    """Streams of records, one for each environment, and stretches of them, which may run across episodes.

    A record is an observation with the action that led to it, its reward, and whether it is its episode's first or a
    terminal one. Episodes shorter than a sequence are sampled like all others. Where an episode was truncated, its
    last record is not terminal.
    """

    def __init__(
        self,
        observations: Observations,
        actions: Actions,
        config: TrainingConfig,
        rng: np.random.Generator,
        directory: Path | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        discrete = actions.layout.kind == "discrete"
        self._rng = rng
        self._actions = actions
        self._config = config
        self._device = torch.device(device)
        self.episodes = EpisodeReplay(
            observations.frame_shape,
            config.replay_capacity,
            rng,
            num_actions=actions.layout.size if discrete else None,
            action_dim=None if discrete else actions.layout.size,
            vector_dim=observations.vector_dim,
            lanes=config.num_envs,
            directory=directory,
            mapped=config.replay_mapped,
        )

    def begin_episode(self, observation: Stored, lane: int) -> None:
        """An episode starts in that environment."""
        self.episodes.begin_episode(observation.frame, lane, vector=observation.vector)

    def add_step(
        self,
        action: NDArray[np.float32],
        reward: float,
        terminated: bool,
        truncated: bool,
        observation: Stored,
        lane: int,
    ) -> None:
        """An action of the networks `(A,)`, and what it led to."""
        stored = self._actions.stored(action)
        self.episodes.add_step(
            stored, reward, terminated, truncated, observation.frame, lane, next_vector=observation.vector
        )

    def sample(self, batch_size: int, length: int) -> StreamBatch:
        """`batch_size` stretches of `length` records, their start uniform, rewards transformed, on the device."""
        stream = self.episodes.sample_stream(batch_size, length)
        return StreamBatch(
            observation=to_networks(
                None if self.episodes.frame_shape is None else stream.frames,
                None if stream.vectors.shape[-1] == 0 else stream.vectors,
                self._device,
            ),
            action=self._previous_actions(stream).to(self._device),
            reward=_TRANSFORMS[self._config.reward_transform](stream.rewards).to(self._device),
            is_first=stream.is_first.to(self._device),
            is_terminal=stream.terminated.to(self._device),
        )

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """What is sampled inside changes no later sample."""
        before = self._rng.bit_generator.state
        try:
            yield
        finally:
            self._rng.bit_generator.state = before

    def state_dict(self) -> dict[str, Any]:
        """That of the episodes."""
        return self.episodes.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.episodes.load_state_dict(state)

    def committed(self) -> None:
        """The latest state is safely written."""
        self.episodes.committed()

    def _previous_actions(self, stream: Stream) -> Tensor:
        """(B, T, A); zero at an episode's first record."""
        if self._actions.layout.kind == "continuous":
            return stream.previous_actions
        hot = one_hot(stream.previous_actions, self._actions.layout.size).float()
        return hot * ~stream.is_first[..., None]
