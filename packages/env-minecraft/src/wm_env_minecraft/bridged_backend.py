"""What the backends behind the bridge have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import gymnasium

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.errors import UsageError
from wm_core.protocols import Diagnosis
from wm_core.specs import EnvSpec
from wm_env_minecraft.actions import DEFAULT_ACTION_SET, checked
from wm_env_minecraft.bridge import Timeouts
from wm_env_minecraft.chain import diagnoses
from wm_env_minecraft.interpreter import game_python
from wm_env_minecraft.minecraft_env import MinecraftEnv


class BridgedBackend(ABC):
    """Tasks of a library that runs in an interpreter of its own."""

    name: ClassVar[Literal["minerl", "minedojo"]]

    @abstractmethod
    def ids(self) -> Sequence[str]:
        """The tasks whose names are known here."""

    @abstractmethod
    def resolve(self, game: str) -> EnvSpec:
        """What a task's id means."""

    @abstractmethod
    def task(self, spec: EnvSpec) -> str:
        """The task as the library calls it."""

    @abstractmethod
    def arguments(self, spec: EnvSpec) -> dict[str, Any]:
        """What the library's `make` is called with besides."""

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """None."""
        return {}

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for what means nothing in Minecraft, a wrong action set, or where there is no interpreter."""
        self._check_spec(spec)
        game_python()

    def make(
        self, spec: EnvSpec, *, python: str | Path | None = None, timeouts: Timeouts | None = None
    ) -> gymnasium.Env[Any, Any]:
        """The task in an interpreter of its own, `python` or `WM_MINECRAFT_PYTHON`, with all that `spec` asks for."""
        self._check_spec(spec)
        env = MinecraftEnv(
            self.name,
            self.task(spec),
            python=game_python(python),
            action_set=checked(spec.options.get("action_set", DEFAULT_ACTION_SET)),
            arguments=self.arguments(spec),
            timeouts=timeouts,
        )
        try:
            return preprocess(env, spec)
        except BaseException:
            env.close()
            raise

    def diagnose(self) -> list[Diagnosis]:
        """The chain behind the bridge, in the order in which it must be mended."""
        return diagnoses(self.name)

    def _check_spec(self, spec: EnvSpec) -> None:
        check_numbers(spec)
        check_unset(spec, EMULATOR_FIELDS)
        if unknown := sorted(set(spec.options) - {"action_set"}):
            raise UsageError(f"{spec.id} has no option {', '.join(unknown)}; it has: action_set")
        checked(spec.options.get("action_set", DEFAULT_ACTION_SET))
