"""An environment backend under test: how the checks make its games and play them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from wm_core import registry
from wm_core.errors import PluginError, UsageError
from wm_core.specs import EnvManifest, EnvSpec
from wm_core.testing.faults import ConformanceError

STEPS = 40
"""How long a game is played; episodes that end are followed by others."""


@dataclass(frozen=True)
class Step:
    """What an environment returned: a copy of the observation, and after a step what else it returned."""

    observation: Any
    outcome: tuple[Any, Any, Any] | None = None
    """Reward, terminated, truncated; None after a reset."""

    def parts(self) -> tuple[Any, ...]:
        """Everything that two equal steps have in common."""
        return (self.observation, *(self.outcome or ()))


class EnvUnderTest:
    """A backend and the game it is checked on."""

    def __init__(self, env: EnvManifest | str, *, game: str | None = None, seeds_matter: bool = True) -> None:
        self.manifest: EnvManifest = registry.manifest("envs", env) if isinstance(env, str) else env
        self._game = game
        self.seeds_matter = seeds_matter

    @cached_property
    def backend(self) -> Any:
        """The backend, built; `ConformanceError` when it does not import."""
        try:
            return registry.load_class(self.manifest.backend, f"the environment backend '{self.manifest.name}'")()
        except PluginError as error:
            raise ConformanceError(
                "the backend can be imported", str(error), "mend the import, or 'module:Class' in the manifest"
            ) from error

    @property
    def game(self) -> str:
        """The game asked for, or the first that the backend lists."""
        if self._game is not None:
            return self._game
        ids = list(self.backend.ids())
        if not ids:
            raise ConformanceError("ids() lists the games", "it is empty", "list them, or give the kit a game")
        return str(ids[0])

    @cached_property
    def spec(self) -> EnvSpec:
        """What the game's id means."""
        spec: EnvSpec = self.backend.resolve(self.game)
        return spec

    @contextmanager
    def made(self, **changes: Any) -> Iterator[gymnasium.Env[Any, Any]]:
        """The game, with some fields of its specification changed; closed at the end."""
        env = self.backend.make(self.spec.model_copy(update=changes))
        try:
            yield env
        finally:
            env.close()

    @contextmanager
    def made_unless_refused(self, **changes: Any) -> Iterator[gymnasium.Env[Any, Any] | None]:
        """Like `made`, or None when the backend says with a `UsageError` that it cannot do that."""
        try:
            env = self.backend.make(self.spec.model_copy(update=changes))
        except UsageError:
            yield None
            return
        try:
            yield env
        finally:
            env.close()

    def play(self, env: gymnasium.Env[Any, Any], seed: int, steps: int = STEPS) -> list[Step]:
        """Reset with a seed, then play the actions that belong to that seed."""
        actions = deepcopy(env.action_space)
        actions.seed(0)
        observation, _ = env.reset(seed=seed)
        played = [Step(deepcopy(observation))]
        for _ in range(steps):
            observation, reward, terminated, truncated, _ = env.step(actions.sample())
            played.append(Step(deepcopy(observation), (reward, terminated, truncated)))
            if terminated or truncated:
                observation, _ = env.reset()
                played.append(Step(deepcopy(observation)))
        return played


def describe(observation: Any) -> str:
    """An observation in a few words."""
    if isinstance(observation, np.ndarray):
        return f"{observation.dtype} of shape {observation.shape}"
    return str(observation)[:80]
