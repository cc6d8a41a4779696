"""Which environments Dreamer trains in and which it is measured in, of an id, a specification or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.serial_lanes import SerialLanes
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.errors import UsageError
from wm_core.specs import AgentManifest, EnvSpec
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.seeding import RandomStreams

MakeEnv = Callable[[], gymnasium.Env[Any, Any]] | None

_TRAIN = "-train"
_GIVEN = "given"
"""Stands for a backend where the environment itself was given."""


def env_spec(game: str | EnvSpec | None, env: MakeEnv, manifest: AgentManifest, image_size: tuple[int, int]) -> EnvSpec:
    """The specification of what is trained on; of a given environment, its name and no more."""
    if env is not None:
        if isinstance(env, gymnasium.Env):
            raise UsageError("give a function that makes the environment, as several are needed, not one environment")
        if isinstance(game, EnvSpec):
            raise UsageError("give the trainer an EnvSpec or a function that makes an environment, not both")
        name = game or str(getattr(env, "__name__", type(env).__name__))
        return EnvSpec(requested=name, id=name, backend=_GIVEN)
    if game is None:
        raise UsageError("give the trainer a game, such as 'wm/Catch-v0', or a function that makes one (env=...)")
    if isinstance(game, EnvSpec):
        return game
    defaults = {name: dict(fields) for name, fields in manifest.env_defaults.items()}
    return training_spec(resolve_env(game, defaults={**defaults, "catch": {"image_size": image_size}}))


def training_spec(spec: EnvSpec) -> EnvSpec:
    """What the paper trains in, where `spec` is what it measures in and differs; other specifications as they are.

    On Atari, V1 trains on single lives. Fields that differ from the published ones were set by the user, and stay.
    """
    return _exchanged(spec, spec.protocol, spec.protocol + _TRAIN)


def evaluation_spec(spec: EnvSpec) -> EnvSpec:
    """The other way round: what an agent trained in `spec` is measured in during its training."""
    if not spec.protocol.endswith(_TRAIN):
        return spec
    return _exchanged(spec, spec.protocol, spec.protocol.removesuffix(_TRAIN))


def training_envs(spec: EnvSpec, env: MakeEnv, count: int, random: RandomStreams) -> list[ReplayableEnv]:
    """Environments to collect in, each with seeds of its own."""
    make = env or (lambda: registry.load_backend(spec.backend).make(spec))
    return [
        ReplayableEnv(make(), random.seed("environment", lane), spec.life_loss_ends_episode) for lane in range(count)
    ]


def evaluation_lanes(spec: EnvSpec, env: MakeEnv, num_envs: int) -> LaneEnvs:
    """Environments to evaluate in, none of them one that is collected in."""
    if env is None:
        return make_vector(evaluation_spec(spec), num_envs)
    make = env
    return SerialLanes(spec, num_envs, lambda _: make())


def _exchanged(spec: EnvSpec, old: str, new: str) -> EnvSpec:
    if spec.backend == _GIVEN:
        return spec
    protocols: Mapping[str, Mapping[str, Any]] = registry.load_backend(spec.backend).protocols()
    if old not in protocols or new not in protocols:
        return spec
    changes = {
        field: value
        for field, value in protocols[new].items()
        if field in protocols[old] and getattr(spec, field) == protocols[old][field] and value != protocols[old][field]
    }
    return spec.model_copy(update={**changes, "protocol": new, "vectorization": "serial"})
