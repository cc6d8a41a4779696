"""Which environment DIAMOND trains in and which it is measured in: on Atari, single lives and whole games."""

from __future__ import annotations

from wm_agent_diamond.plugin import DIAMOND
from wm_core.envs.vector import LaneEnvs
from wm_core.specs import EnvSpec
from wm_torchkit import learning_env
from wm_torchkit.learning_env import GivenEnv

_PUBLISHED = "diamond"


def env_spec(game: str | EnvSpec | None, env: GivenEnv, image_size: int) -> EnvSpec:
    """The specification of what is trained on; of a given environment, its name and no more."""
    fields = {backend: {**wanted, "image_size": (image_size,) * 2} for backend, wanted in DIAMOND.env_defaults.items()}
    return learning_env.env_spec(game, env, fields, _PUBLISHED)


def training_spec(spec: EnvSpec) -> EnvSpec:
    """On Atari, what the paper trains in where `spec` is what it measures in; other specifications as they are."""
    return learning_env.training_spec(spec, _PUBLISHED)


def evaluation_spec(spec: EnvSpec) -> EnvSpec:
    """The other way round: what an agent trained in `spec` is measured in during its training."""
    return learning_env.evaluation_spec(spec, _PUBLISHED)


def evaluation_lanes(spec: EnvSpec, env: GivenEnv, num_envs: int) -> LaneEnvs:
    """Environments to evaluate in, none of them the one that is collected in."""
    return learning_env.evaluation_lanes(evaluation_spec(spec), env, num_envs)
