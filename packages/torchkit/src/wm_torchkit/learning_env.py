"""Which environment an agent learns in and which it is measured in, of an id, a specification or an environment.

Where a paper trains in another protocol than it measures in, a backend names the two `NAME-train` and `NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.serial_lanes import SerialLanes
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

GivenEnv = gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | None

TRAIN = "-train"
GIVEN = "given"
"""Stands for a backend where the environment itself was given."""


def env_spec(
    game: str | EnvSpec | None, env: GivenEnv, defaults: Mapping[str, Mapping[str, Any]], published: str
) -> EnvSpec:
    """The specification of what is trained on; of a given environment, its name and no more.

    `defaults` are an agent's fields for each backend, `published` is the protocol that its paper measures in.
    """
    if env is not None:
        if isinstance(game, EnvSpec):
            raise UsageError("give the trainer an EnvSpec or an environment, not both")
        name = game or _name(env)
        return EnvSpec(requested=name, id=name, backend=GIVEN)
    if game is None:
        raise UsageError("give the trainer a game, such as 'wm/Catch-v0', or an environment (env=...)")
    return game if isinstance(game, EnvSpec) else training_spec(resolve_env(game, defaults=defaults), published)


def training_spec(spec: EnvSpec, published: str) -> EnvSpec:
    """What the paper trains in where `spec` is what it measures in; other specifications as they are."""
    if spec.protocol != published:
        return spec
    return exchange_protocol(spec, published + TRAIN).model_copy(update={"vectorization": "serial"})


def evaluation_spec(spec: EnvSpec, published: str) -> EnvSpec:
    """The other way round: what an agent trained in `spec` is measured in during its training."""
    return exchange_protocol(spec, published) if spec.protocol == published + TRAIN else spec


def exchange_protocol(spec: EnvSpec, protocol: str) -> EnvSpec:
    """`spec` in another protocol of its backend.

    Fields that differ from those of the protocol it is in were set by the user, and stay.
    """
    protocols = registry.load_backend(spec.backend).protocols()
    old, new = protocols[spec.protocol], protocols[protocol]
    changes = {
        field: value for field, value in new.items() if field in old and getattr(spec, field) == old[field] != value
    }
    return spec.model_copy(update={**changes, "protocol": protocol})


def training_env(spec: EnvSpec, env: GivenEnv) -> gymnasium.Env[Any, Any]:
    """The environment to collect in."""
    if isinstance(env, gymnasium.Env):
        return env
    if env is not None:
        return env()
    made: gymnasium.Env[Any, Any] = registry.load_backend(spec.backend).make(spec)
    return made


def evaluation_lanes(spec: EnvSpec, env: GivenEnv, num_envs: int) -> LaneEnvs:
    """Environments to evaluate in `spec`, none of them one that is collected in."""
    if env is None:
        return make_vector(spec, num_envs)
    if isinstance(env, gymnasium.Env):
        raise UsageError("of a single environment there is no second one to evaluate in; give a function")
    make = env
    return SerialLanes(spec, num_envs, lambda _: make())


def _name(env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]]) -> str:
    if isinstance(env, gymnasium.Env):
        return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return str(getattr(env, "__name__", type(env).__name__))
