"""The fallback backend: whatever is registered with Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium.error import DependencyNotInstalled, DeprecatedEnv, Error, UnregisteredEnv

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.envs.gymnasium_options import check_options, line, missing, rendering
from wm_core.envs.unknown import UnknownGame, nearest
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

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
        """`UsageError` for values that only an Atari console could honour, and options nobody would take."""
        registered = _registered(spec.id)
        check_numbers(spec)
        check_unset(spec, EMULATOR_FIELDS)
        check_options(spec, registered)

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """The registered environment, with `options` passed to its constructor."""
        self.check(spec)
        registered = _registered(spec.id)
        try:
            # A limit of -1 leaves out the registered one: `max_frames` stands in its place.
            env = gymnasium.make(registered, max_episode_steps=-1, **rendering(registered), **spec.options)
            return preprocess(env, spec)
        except (DependencyNotInstalled, ImportError) as error:
            raise UsageError(missing(spec.id, registered, error)) from error
        except UsageError:
            raise
        except Exception as error:
            if not spec.options:
                raise
            raise UsageError(
                f"{spec.id} refuses the options {spec.options}: {type(error).__name__}: {line(error)}"
            ) from error


def _registered(game: str) -> gymnasium.envs.registration.EnvSpec:
    module, _, env_id = game.rpartition(":")
    if module:
        try:
            import_module(module)
        except ImportError as error:
            raise UsageError(f"'{game}' needs the module '{module}': {line(error)}; install it") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise UsageError(
                f"'{game}' needs the module '{module}', which cannot be imported: "
                f"{type(error).__name__}: {line(error)}; mend it, or leave it out"
            ) from error
    try:
        return gymnasium.spec(env_id)
    except DeprecatedEnv as error:
        raise UnknownGame(f"Gymnasium no longer has '{game}': {line(error)}") from error
    except (UnregisteredEnv, Error) as error:
        near = nearest(env_id, gymnasium.registry)
        hint = f"did you mean {', '.join(near)}?" if near else "`wmbench envs --ids` lists all"
        raise UnknownGame(f"Gymnasium knows no '{game}'; {hint}") from error
