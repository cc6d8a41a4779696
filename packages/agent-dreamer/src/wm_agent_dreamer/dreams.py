"""Open-loop rollouts from real observations, decoded to frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_dreamer.actions import Actions
from wm_agent_dreamer.agent import DreamerAgent, PolicyState
from wm_agent_dreamer.observations import Observations
from wm_core.errors import UsageError
from wm_core.protocols import Imagination
from wm_torchkit.frames import to_uint8


def dream(
    agent: DreamerAgent,
    observations: Observations,
    actions: Actions,
    seen: Any,
    given: NDArray[Any] | None,
    horizon: int,
    generator: torch.Generator,
) -> Imagination:
    """`horizon` imagined steps after the last of T observations `seen`, which begin an episode.

    `given` are the environment's own actions, `horizon` of them, or T - 1 more in front, which led from one
    observation to the next; None lets the policy act. Where the actions between the observations are not given, the
    model takes it that the policy chose them. Frames are uint8 (horizon, H, W, C), each what its action led to; ends
    are where the model thinks an end likelier than not. `UsageError` where the agent sees no images.
    """
    if agent.observation.image is None:
        raise UsageError("this agent sees vectors and no images, so its dreams have no frames to show")
    if horizon < 1 or not len(seen):
        raise UsageError(f"a dream of {horizon} steps after {len(seen)} observations; expected at least 1 after 1")
    before, after = _split(actions, given, len(seen), horizon)
    state = agent.initial_state(1)
    device = agent.device
    for t, observation in enumerate(seen):
        if before is not None and t > 0:
            state = PolicyState(state.rssm, torch.from_numpy(before[t - 1 : t]).to(device))
        _, state = agent.policy_step(
            observations.batch([observation], device),
            state,
            is_first=torch.tensor([t == 0]),
            generators=[generator],
        )
    on_device = generator
    if device.type != "cpu":
        on_device = torch.Generator(device).manual_seed(generator.initial_seed())
    imagined = agent.imagine(
        state.rssm,
        horizon,
        actions=None if after is None else torch.from_numpy(after)[None].to(device),
        generator=on_device,
    )
    assert imagined.observation.image is not None
    taken = [actions.to_env(action) for action in imagined.actions[0].cpu().numpy()]
    return Imagination(
        frames=to_uint8(imagined.observation.image[0]).cpu().numpy(),
        actions=actions.batch(taken),
        rewards=imagined.rewards[0].cpu().numpy(),
        ends=(imagined.continues[0] < 0.5).cpu().numpy(),
    )


def _split(
    actions: Actions, given: NDArray[Any] | None, seen: int, horizon: int
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Actions of the networks between the observations, and after them."""
    if given is None:
        return None, None
    vectors = np.stack([actions.from_env(action) for action in given]) if len(given) else np.empty((0, 0), np.float32)
    if len(vectors) == horizon:
        return None, vectors
    if len(vectors) == seen - 1 + horizon:
        return vectors[: seen - 1], vectors[seen - 1 :]
    raise UsageError(
        f"{len(vectors)} actions for {seen} observations and a dream of {horizon} steps; give {horizon}, or "
        f"{seen - 1 + horizon} with those between the observations"
    )
