"""What the constructor of a registered Gymnasium environment takes, and what it needs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec as Registered
from gymnasium.envs.registration import load_env_creator
from gymnasium.error import DependencyNotInstalled

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

_SET_HERE = {
    "render_mode": "set observation=rgb for pictures",
    "max_episode_steps": "set max_frames",
    "id": "name it with -g",
    "disable_env_checker": "leave it out",
}
"""Arguments of `gymnasium.make` that are not an environment's own options -> what to do instead."""


def check_options(spec: EnvSpec, registered: Registered) -> None:
    """`UsageError` for options that the constructor cannot take, as far as its signature tells."""
    for name, instead in _SET_HERE.items():
        if name in spec.options:
            raise UsageError(f"{spec.id} refuses the option '{name}', which is set by wmbench; {instead}")
    if not spec.options:
        return
    creator = _creator(spec.id, registered)
    try:
        parameters = inspect.signature(creator).parameters.values()
    except (TypeError, ValueError):  # it does not say what it takes: making it will
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and parameter.name not in _SET_HERE
    ]
    for name in spec.options:
        if name not in known:
            raise UsageError(
                f"{spec.id} refuses the options {spec.options}: it knows no '{name}', "
                f"but {', '.join(known) or 'no options at all'}"
            )


def rendering(registered: Registered) -> dict[str, Any]:
    """The argument that makes an environment render arrays, where it can."""
    creator: Any = registered.entry_point
    if isinstance(creator, str):
        creator = load_env_creator(creator)
    metadata = getattr(creator, "metadata", None)
    modes = metadata.get("render_modes", ()) if isinstance(metadata, Mapping) else ()
    return {"render_mode": "rgb_array"} if "rgb_array" in modes else {}


def missing(env_id: str, registered: Registered, error: BaseException) -> str:
    """What to install for an environment whose import failed."""
    message = f"{env_id} needs a package that is not installed: {line(error)}"
    entry_point = str(registered.entry_point)
    extra = next((extra for module, extra in _EXTRAS.items() if entry_point.startswith(module)), None)
    if extra is not None and "pip install" not in message:
        message += f'; pip install "gymnasium[{extra}]"'
    return message


def line(error: BaseException) -> str:
    """An error's message on one line."""
    return " ".join(str(error).split())


def _creator(env_id: str, registered: Registered) -> Any:
    creator: Any = registered.entry_point
    if not isinstance(creator, str):
        return creator
    try:
        return load_env_creator(creator)
    except KeyboardInterrupt:
        raise
    except (DependencyNotInstalled, ImportError) as error:
        raise UsageError(missing(env_id, registered, error)) from error
    except BaseException as error:
        raise UsageError(f"{env_id} cannot be loaded: {type(error).__name__}: {line(error)}") from error
