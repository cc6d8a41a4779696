"""A trained agent for anybody's loop: `load` and `act`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import gymnasium
import torch

from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.agent import DreamerAgent, PolicyState
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_agent_dreamer.observations import Observations
from wm_core.errors import CheckpointError


class DreamerPlayer:
    """Plays one environment, given its spaces. Everything is drawn from `seed`, and nothing else is touched.

    The action is the most probable one; the latent state is still drawn from its posterior, by the player's own
    generator. So two players of one seed play alike.
    """

    def __init__(
        self,
        agent: DreamerAgent,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        seed: int = 0,
    ) -> None:
        self.agent = agent
        self._observations = Observations(observation_space)
        self._actions = actions_of(action_space)
        self._generator = torch.Generator().manual_seed(seed)

    @classmethod
    def load(
        cls,
        path: str | Path,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> Self:
        """The player of a checkpoint of any version; `CheckpointError` when it is none, or made for other spaces."""
        path = Path(path).expanduser()
        agent = checkpoint.load(path, device=device)
        require_fit(agent, observation_space, action_space, path, "this environment")
        return cls(agent, observation_space, action_space, seed)

    def act(
        self, observation: Any, state: PolicyState | None = None, *, sample: bool = False
    ) -> tuple[Any, PolicyState]:
        """An action for the environment's own observation, and the state to give back with the next one.

        Without a state an episode begins. With `sample`, the action is drawn from the policy.
        """
        action, following = self.agent.policy_step(
            self._observations.batch([observation], self.agent.device),
            self.agent.initial_state(1) if state is None else state,
            is_first=torch.tensor([state is None]),
            generators=[self._generator],
            mode=not sample,
        )
        return self._actions.to_env(action[0].cpu().numpy()), following


def require_fit(
    agent: DreamerAgent,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    path: Path,
    name: str,
) -> None:
    """`CheckpointError` when an agent's layouts are not those of the spaces of the environment of that name."""
    action, observation = actions_of(action_space).layout, Observations(observation_space).layout
    if agent.action != action:
        raise CheckpointError(
            f"{path} has {_described_action(agent.action)}, and {name} has {_described_action(action)}; "
            "use a checkpoint that was trained on this game"
        )
    if agent.observation != observation:
        raise CheckpointError(
            f"{path} sees {_described_observation(agent.observation)}, and {name} shows "
            f"{_described_observation(observation)}; use the observation settings it was trained with"
        )


def _described_action(action: ActionLayout) -> str:
    return f"{action.size} actions" if action.kind == "discrete" else f"actions of {action.size} numbers"


def _described_observation(observation: ObservationLayout) -> str:
    parts = []
    if observation.image is not None:
        channels, height, width = observation.image
        parts.append(f"images of {height}x{width} pixels, {channels} channel(s)")
    if observation.vector is not None:
        parts.append(f"vectors of {observation.vector}")
    return " and ".join(parts)
