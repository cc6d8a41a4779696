"""The fallback backend: whatever is registered with Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium.error import DependencyNotInstalled, DeprecatedEnv, Error, UnregisteredEnv

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.envs.unknown import UnknownGame, nearest
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

_EXTRAS = {
    "gymnasium.envs.box2d": "box2d",
    "gymnasium.envs.classic_control": "classic-control",
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.phys2d": "jax",
    "gymnasium.envs.tabular": "jax",
    "gymnasium.envs.toy_text": "toy-text",
}
"""Module -> the extra of gymnasium that it needs."""

_OWNERS = ("ale_py", "wm_core")
"""Packages whose environments have a backend of their own."""


class GymnasiumBackend:
    """Any registered id, and 'module:Id-v0' for ids that a module registers when it is imported."""

    def ids(self) -> Sequence[str]:
        """All ids registered by now, but those of the other built-in backends."""
        return [
            spec.id
            for spec in gymnasium.registry.values()
            if not str(spec.entry_point or spec.vector_entry_point).startswith(_OWNERS)
        ]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """None."""
        return {}

    def resolve(self, game: str) -> EnvSpec:
        """The environment as it is registered; its time limit becomes `max_frames`."""
        return EnvSpec(
            requested=game,
            id=game,
            backend="gymnasium",
            observation="native",
            max_frames=_registered(game).max_episode_steps,
        )

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for values that only an Atari console could honour."""
        _registered(spec.id)
        check_numbers(spec)
        check_unset(spec, EMULATOR_FIELDS)

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """The registered environment, with `options` passed to its constructor."""
        self.check(spec)
        registered = _registered(spec.id)
        try:
            # A limit of -1 leaves out the registered one: `max_frames` stands in its place.
            env = gymnasium.make(registered, max_episode_steps=-1, **_rendering(registered), **spec.options)
            return preprocess(env, spec)
        except (DependencyNotInstalled, ImportError) as error:
            raise UsageError(_missing(spec.id, registered, error)) from error
        except UsageError:
            raise
        except Exception as error:
            if not spec.options:
                raise
            raise UsageError(
                f"{spec.id} refuses the options {spec.options}: {type(error).__name__}: {_line(error)}"
            ) from error


def _registered(game: str) -> gymnasium.envs.registration.EnvSpec:
    module, _, env_id = game.rpartition(":")
    if module:
        try:
            import_module(module)
        except ImportError as error:
            raise UsageError(f"'{game}' needs the module '{module}': {_line(error)}; install it") from error
    try:
        return gymnasium.spec(env_id)
    except DeprecatedEnv as error:
        raise UnknownGame(f"Gymnasium no longer has '{game}': {_line(error)}") from error
    except (UnregisteredEnv, Error) as error:
        near = nearest(env_id, gymnasium.registry)
        hint = f"did you mean {', '.join(near)}?" if near else "`wmbench envs --ids` lists all"
        raise UnknownGame(f"Gymnasium knows no '{game}'; {hint}") from error


def _rendering(registered: gymnasium.envs.registration.EnvSpec) -> dict[str, Any]:
    """The argument that makes an environment render arrays, where it can."""
    creator: Any = registered.entry_point
    if isinstance(creator, str):
        creator = gymnasium.envs.registration.load_env_creator(creator)
    metadata = getattr(creator, "metadata", None)
    modes = metadata.get("render_modes", ()) if isinstance(metadata, Mapping) else ()
    return {"render_mode": "rgb_array"} if "rgb_array" in modes else {}


def _missing(env_id: str, registered: gymnasium.envs.registration.EnvSpec, error: BaseException) -> str:
    message = f"{env_id} needs a package that is not installed: {_line(error)}"
    entry_point = str(registered.entry_point)
    extra = next((extra for module, extra in _EXTRAS.items() if entry_point.startswith(module)), None)
    if extra is not None and "pip install" not in message:
        message += f'; pip install "gymnasium[{extra}]"'
    return message


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
