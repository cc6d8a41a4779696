"""The base class for plugin authors: give it `reset` and `act`, and the core plays, seeds, times and films."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wm_core.errors import CheckpointError
from wm_core.protocols import AdapterContext

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from numpy.typing import NDArray


class PolicyAdapter(ABC):
    """An agent that acts on a batch of lanes.

    A subclass builds its networks in `__init__` from `context` (spaces, device, preset, seed), loads weights in
    `load_checkpoint`, and plays in `reset` and `act`.
    """

    def __init__(self, context: AdapterContext) -> None:
        self.context = context

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of one action."""
        space: gymnasium.Space[Any] = self.context.action_space
        return space

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one observation."""
        space: gymnasium.Space[Any] = self.context.observation_space
        return space

    def load_checkpoint(self, path: Path) -> None:
        """Load weights from `path`, or raise `CheckpointError`."""
        raise CheckpointError(f"{type(self).__name__} has no weights to load, but was given {path}; leave -c out")

    @abstractmethod
    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` is true; see `wm_core.protocols.Acts.reset`."""

    @abstractmethod
    def act(self, observations: Any) -> Any:
        """Actions for all lanes; see `wm_core.protocols.Acts.act`."""

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        """Play `num_episodes` in the context's environment.

        Returns `episode_returns` and `episode_lengths` in the order of the episodes, and, with `render`,
        `frames`: the first episode as a uint8 array of shape `(length, H, W, 3)`.
        """
        import numpy as np

        from wm_core.envs.vector import make_vector
        from wm_core.rollout import rollout

        lanes = min(self.context.num_envs, num_episodes)
        film: list[NDArray[np.uint8]] = []
        filming = render
        with closing(make_vector(self.context.env, lanes)) as envs:

            def keep_frame(playing: NDArray[np.bool_]) -> None:
                if filming and playing[0]:
                    film.append(envs.render(0))

            played = []
            for episode in rollout(self, envs, self.context.seed, range(num_episodes), on_step=keep_frame):
                filming = filming and episode.episode != 0
                played.append(episode)
        played.sort(key=lambda episode: episode.episode)
        result: dict[str, Any] = {
            "episode_returns": [episode.episode_return for episode in played],
            "episode_lengths": [episode.length for episode in played],
        }
        if render:
            result["frames"] = np.stack(film)
        return result
