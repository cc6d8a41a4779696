"""A sound little environment backend, and backends that are like it but for one fault each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

Env = gymnasium.Env[Any, Any]
Outcome = tuple[Any, Any, Any, Any, dict[str, Any]]


class Walk(gymnasium.Env[Any, Any]):
    """A dot on a strip of eight cells, pushed by the player and by chance."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(3)

    def chance(self) -> int:
        return int(self.np_random.integers(8))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.steps = self.chance(), 0
        return self.shown(), {}

    def step(self, action: int) -> Outcome:
        self.place = (self.place + int(action) + self.chance()) % 8
        self.steps += 1
        return self.shown(), float(self.place), self.steps == 7, False, {}

    def shown(self) -> Any:
        board = np.zeros((8, 8, 3), np.uint8)
        board[:, self.place] = 255
        return board


class Sound:
    """Serves 'sound/Walk-v0'."""

    game: type[Walk] = Walk
    name = "sound"

    def ids(self) -> Sequence[str]:
        return ["sound/Walk-v0"]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        return {"small": {"image_size": (4, 4)}}

    def resolve(self, game: str) -> EnvSpec:
        if game not in self.ids():
            raise UsageError(f"no {game}")
        return EnvSpec(requested=game, id=game, backend=self.name, observation="rgb")

    def make(self, spec: EnvSpec) -> Env:
        check_numbers(spec)
        check_unset(spec, (*EMULATOR_FIELDS, "options"))
        return self.finished(preprocess(self.game(), spec))

    def finished(self, env: Env) -> Env:
        return env


class LacksProtocols:
    def ids(self) -> Sequence[str]:
        return ["sound/Walk-v0"]


class ResolvesAnything(Sound):
    def resolve(self, game: str) -> EnvSpec:
        return super().resolve("sound/Walk-v0").model_copy(update={"requested": game})


class RaisesKeyError(Sound):
    def resolve(self, game: str) -> EnvSpec:
        return {known: super(RaisesKeyError, self).resolve(known) for known in self.ids()}[game]


class CallsItselfOtherwise(Sound):
    name = "other"


class UnknownProtocolField(Sound):
    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        return {"mine": {"frameskip": 4}}


class _Unseeded(Walk):
    ticks = count()

    def chance(self) -> int:
        return int(np.random.default_rng(next(self.ticks)).integers(8))


class Unseeded(Sound):
    game = _Unseeded


class _SeededOnce(Walk):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=None if hasattr(self, "place") else seed)


class SeededOnce(Sound):
    game = _SeededOnce


class _WithoutChance(Walk):
    def chance(self) -> int:
        return 0


class WithoutChance(Sound):
    game = _WithoutChance


class _Shared(Walk):
    places: list[int] = [0]  # noqa: RUF012 - the fault

    def step(self, action: int) -> Outcome:
        self.places[0] += int(action) + 1
        observation, reward, *rest = super().step(action)
        return observation, reward + self.places[0], *rest  # type: ignore[return-value]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.places[0] = 0
        return super().reset(seed=seed)


class SharesItsState(Sound):
    game = _Shared


class _ReusesItsBoard(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.board = np.zeros((8, 8, 3), np.uint8)

    def shown(self) -> Any:
        self.board[:] = super().shown()
        return self.board


class ReusesItsBoard(Sound):
    game = _ReusesItsBoard


class _Changed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What `step` returns, changed."""

    def step(self, action: Any) -> Outcome:
        return self.changed(*self.env.step(action))

    def changed(self, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> Outcome:
        raise NotImplementedError


class _Floats(_Changed):
    def changed(self, observation: Any, *rest: Any) -> Outcome:
        return observation / 255.0, *rest  # type: ignore[return-value]


class ShowsFloats(Sound):
    def finished(self, env: Env) -> Env:
        return _Floats(env)


class _NaN(_Changed):
    def changed(self, observation: Any, reward: Any, *rest: Any) -> Outcome:
        return observation, float("nan"), *rest  # type: ignore[return-value]


class RewardsNaN(Sound):
    def finished(self, env: Env) -> Env:
        return _NaN(env)


class _Nothing(_Changed):
    def changed(self, observation: Any, reward: Any, *rest: Any) -> Outcome:
        return observation, None, *rest  # type: ignore[return-value]


class RewardsNothing(Sound):
    def finished(self, env: Env) -> Env:
        return _Nothing(env)


class _Numbers(_Changed):
    def changed(self, observation: Any, reward: Any, terminated: Any, *rest: Any) -> Outcome:
        return observation, reward, int(terminated), *rest  # type: ignore[return-value]


class EndsInNumbers(Sound):
    def finished(self, env: Env) -> Env:
        return _Numbers(env)


class _NoSpace(gymnasium.Wrapper[Any, Any, Any, Any]):
    action_space: Any = None
    observation_space: Any = "pictures"


class HasNoSpaces(Sound):
    def finished(self, env: Env) -> Env:
        return _NoSpace(env)


class _ClosesOnce(gymnasium.Wrapper[Any, Any, Any, Any]):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class ClosesOnce(Sound):
    def finished(self, env: Env) -> Env:
        return _ClosesOnce(env)


class IgnoresImageSize(Sound):
    def make(self, spec: EnvSpec) -> Env:
        return super().make(spec.model_copy(update={"image_size": None}))


class IgnoresFrameStack(Sound):
    def make(self, spec: EnvSpec) -> Env:
        return super().make(spec.model_copy(update={"frame_stack": 1}))


class IgnoresTimeLimit(Sound):
    def make(self, spec: EnvSpec) -> Env:
        return super().make(spec.model_copy(update={"max_frames": None}))


class IgnoresOptions(Sound):
    def make(self, spec: EnvSpec) -> Env:
        return super().make(spec.model_copy(update={"options": {}}))


class OptionsRaiseTypeError(Sound):
    def make(self, spec: EnvSpec) -> Env:
        if spec.options:
            raise TypeError("unexpected keyword argument")
        return super().make(spec)


class RefusesWhatItCannot(Sound):
    """Not a fault: no image sizes, stacks or limits, and it says so."""

    def make(self, spec: EnvSpec) -> Env:
        check_unset(spec, ("image_size", "frame_stack", "max_frames"))
        return super().make(spec)
