"""Which environment DIAMOND trains in and which it is measured in, of an id, a specification or an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from wm_agent_diamond.plugin import DIAMOND
from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.serial_lanes import SerialLanes
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

GivenEnv = gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | None

_PUBLISHED, _PUBLISHED_TRAINING = "diamond", "diamond-train"
_GIVEN = "given"
"""Stands for a backend where the environment itself was given."""


def env_spec(game: str | EnvSpec | None, env: GivenEnv, image_size: int) -> EnvSpec:
    """The specification of what is trained on; of a given environment, its name and no more."""
    if env is not None:
        if isinstance(game, EnvSpec):
            raise UsageError("give the trainer an EnvSpec or an environment, not both")
        name = game or _name(env)
        return EnvSpec(requested=name, id=name, backend=_GIVEN)
    if game is None:
        raise UsageError("give the trainer a game, such as 'wm/Catch-v0', or an environment (env=...)")
    if isinstance(game, EnvSpec):
        return game
    fields = {backend: {**wanted, "image_size": (image_size,) * 2} for backend, wanted in DIAMOND.env_defaults.items()}
    return training_spec(resolve_env(game, defaults=fields))


def training_spec(spec: EnvSpec) -> EnvSpec:
    """On Atari, what the paper trains in where `spec` is what it measures in; other specifications as they are.

    Fields that differ from the published ones were set by the user, and stay.
    """
    if spec.protocol != _PUBLISHED:
        return spec
    protocols = registry.load_backend(spec.backend).protocols()
    measured, trained = protocols[_PUBLISHED], protocols[_PUBLISHED_TRAINING]
    changes = {
        field: value
        for field, value in trained.items()
        if field in measured and getattr(spec, field) == measured[field] and value != measured[field]
    }
    return spec.model_copy(update={**changes, "protocol": _PUBLISHED_TRAINING, "vectorization": "serial"})


def evaluation_spec(spec: EnvSpec) -> EnvSpec:
    """The other way round: what an agent trained in `spec` is measured in during its training."""
    if spec.protocol != _PUBLISHED_TRAINING:
        return spec
    protocols = registry.load_backend(spec.backend).protocols()
    measured, trained = protocols[_PUBLISHED], protocols[_PUBLISHED_TRAINING]
    changes = {
        field: measured[field]
        for field, value in trained.items()
        if field in measured and getattr(spec, field) == value
    }
    return spec.model_copy(update={**changes, "protocol": _PUBLISHED})


def training_env(spec: EnvSpec, env: GivenEnv) -> gymnasium.Env[Any, Any]:
    """The environment to collect in."""
    if isinstance(env, gymnasium.Env):
        return env
    if env is not None:
        return env()
    made: gymnasium.Env[Any, Any] = registry.load_backend(spec.backend).make(spec)
    return made


def evaluation_lanes(spec: EnvSpec, env: GivenEnv, num_envs: int) -> LaneEnvs:
    """Environments to evaluate in, none of them the one that is collected in."""
    if env is None:
        return make_vector(evaluation_spec(spec), num_envs)
    if isinstance(env, gymnasium.Env):
        raise UsageError("of a single environment there is no second one to evaluate in; give a function")
    make = env
    return SerialLanes(spec, num_envs, lambda _: make())


def _name(env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]]) -> str:
    if isinstance(env, gymnasium.Env):
        return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return str(getattr(env, "__name__", type(env).__name__))
