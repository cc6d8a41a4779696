"""Which environments Dreamer trains in and which it is measured in, of an id, a specification or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import LaneEnvs
from wm_core.errors import UsageError
from wm_core.specs import AgentManifest, EnvSpec
from wm_torchkit import learning_env
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.learning_env import GIVEN, TRAIN, exchange_protocol
from wm_torchkit.seeding import RandomStreams

MakeEnv = Callable[[], gymnasium.Env[Any, Any]] | None


def env_spec(game: str | EnvSpec | None, env: MakeEnv, manifest: AgentManifest, image_size: tuple[int, int]) -> EnvSpec:
    """The specification of what is trained on; of a given environment, its name and no more."""
    if env is not None:
        if isinstance(env, gymnasium.Env):
            raise UsageError("give a function that makes the environment, as several are needed, not one environment")
        if isinstance(game, EnvSpec):
            raise UsageError("give the trainer an EnvSpec or a function that makes an environment, not both")
        name = game or str(getattr(env, "__name__", type(env).__name__))
        return EnvSpec(requested=name, id=name, backend=GIVEN)
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
    return _exchanged(spec, spec.protocol + TRAIN)


def evaluation_spec(spec: EnvSpec) -> EnvSpec:
    """The other way round: what an agent trained in `spec` is measured in during its training."""
    if not spec.protocol.endswith(TRAIN):
        return spec
    return _exchanged(spec, spec.protocol.removesuffix(TRAIN))


def training_envs(spec: EnvSpec, env: MakeEnv, count: int, random: RandomStreams) -> list[ReplayableEnv]:
    """Environments to collect in, each with seeds of its own."""
    make = env or (lambda: registry.load_backend(spec.backend).make(spec))
    return [
        ReplayableEnv(make(), random.seed("environment", lane), spec.life_loss_ends_episode) for lane in range(count)
    ]


def evaluation_lanes(spec: EnvSpec, env: MakeEnv, num_envs: int) -> LaneEnvs:
    """Environments to evaluate in, none of them one that is collected in."""
    return learning_env.evaluation_lanes(evaluation_spec(spec), env, num_envs)


def _exchanged(spec: EnvSpec, protocol: str) -> EnvSpec:
    if spec.backend == GIVEN:
        return spec
    protocols = registry.load_backend(spec.backend).protocols()
    if spec.protocol not in protocols or protocol not in protocols:
        return spec
    return exchange_protocol(spec, protocol).model_copy(update={"vectorization": "serial"})
