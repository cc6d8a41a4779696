"""What an adapter is built from: the resolved environment and its spaces, a seed, a device."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from wm_core.envs.vector import make_vector
from wm_core.protocols import AdapterContext
from wm_core.specs import EnvSpec, RunSpec


def agent_context(spec: RunSpec, env: EnvSpec, seed: int) -> AdapterContext:
    """The context of one cell's adapter. One environment is made for its spaces, and closed.

    Raises `EnvironmentFailure` when it cannot be made.
    """
    return context_of(env, seed=seed, device=spec.device, preset=spec.preset, num_envs=spec.num_envs)


def context_of(env: EnvSpec, **fields: Any) -> AdapterContext:
    """The context of an environment, with other fields than the defaults. Makes it as `agent_context` does."""
    with closing(make_vector(env, 1)) as envs:
        return AdapterContext(
            env=env,
            observation_space=envs.single_observation_space,
            action_space=envs.single_action_space,
            **fields,
        )
