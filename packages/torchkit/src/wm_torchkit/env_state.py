"""An environment whose state can be saved, though environments cannot: by doing again what was done."""

from __future__ import annotations

import zlib
from typing import Any

import gymnasium
import numpy as np

from wm_core.errors import CheckpointError, EnvironmentFailure, UsageError
from wm_core.protocols import KeepsLog
from wm_torchkit.seeding import MAX_SEED

_STEP = -1
"""Stands in place of a seed for operations that are steps."""


class ReplayableEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Remembers seed and actions since the environment last started afresh; restoring repeats them.

    Every reset is given a seed of its own, derived from `seed` and the number of the reset, so an episode
    depends on nothing before it. Restoring takes a new environment, does all that was done to the saved one,
    and compares each observation, reward and end by checksum: an environment that does not repeat itself is
    found out.

    Where the environment, or one that it wraps, `KeepsLog` of a learning run, the log begins anew with this object,
    and is saved and restored with it.

    With `life_loss_ends_episode`, the game goes on after a termination with `info["lives"] > 0`, so the
    memory reaches back to the last game over or time limit.
    """

    observation: Any
    """What the last reset or step returned; None before the first reset."""
    episode_over: bool
    """Whether the environment must be reset before it is stepped."""

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int, life_loss_ends_episode: bool = False) -> None:
        super().__init__(env)
        self._seed = seed
        self._life_loss = life_loss_ends_episode
        self._resets = 0
        self._next_reset_is_fresh = True
        self._forget()
        self.observation = None
        self.episode_over = True
        self._log = _log_of(env)
        if self._log is not None:
            self._log.restore_log(None)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, from a derived seed unless one is given. Options are refused."""
        if options:
            raise UsageError(f"a replayable environment takes no reset options, got {sorted(options)}")
        if seed is None:
            sequence = np.random.SeedSequence(self._seed, spawn_key=(self._resets,))
            seed = int(sequence.generate_state(1, np.uint64)[0] % MAX_SEED)
        if self._next_reset_is_fresh:
            self._forget()
        self._resets += 1
        return self._reset(seed)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, remembered."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._seeds.append(_STEP)
        self._actions.append(np.asarray(action))
        self._digests.append(_digest(observation, reward, terminated, truncated))
        if self._life_loss:
            game_over = terminated and info.get("lives", 0) == 0
            self._next_reset_is_fresh = bool(truncated or game_over)
        self.observation, self.episode_over = observation, bool(terminated or truncated)
        return observation, reward, terminated, truncated, info

    def state_dict(self) -> dict[str, Any]:
        """What was done since the environment started afresh."""
        log = {} if self._log is None else {"log": self._log.log_state()}
        return {
            **log,
            "resets": self._resets,
            "seeds": np.array(self._seeds, np.int64),
            "actions": np.stack(self._actions) if self._actions else np.empty(0, np.int64),
            "digests": np.array(self._digests, np.int64),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Do it again. Raises `EnvironmentFailure` at the first step that turns out otherwise."""
        seeds, digests = state["seeds"].tolist(), state["digests"].tolist()
        if len(seeds) != len(digests) or seeds.count(_STEP) != len(state["actions"]):
            raise CheckpointError("the saved state of the environment is damaged: its parts differ in length")
        self._forget()
        self._next_reset_is_fresh = True
        self.observation, self.episode_over = None, True
        actions = iter(state["actions"])
        for number, (seed, digest) in enumerate(zip(seeds, digests, strict=True)):
            if seed == _STEP:
                action = next(actions)
                self.step(action.item() if action.ndim == 0 else action)
            else:
                self._reset(seed)
            if self._digests[-1] != digest:
                raise EnvironmentFailure(
                    f"{self._name()} did not repeat itself: operation {number} of {len(seeds)} since it "
                    "started afresh gave another observation, reward or end than before. It depends on "
                    "more than its seed and actions, or another version of it is installed, so this "
                    "training cannot go on exactly"
                )
        self._resets = state["resets"]
        if self._log is not None:
            self._restore_log(self._log, state)

    def _restore_log(self, log: KeepsLog, state: dict[str, Any]) -> None:
        if "log" not in state:
            raise CheckpointError(
                f"the saved state of {self._name()} has no log of its learning run: it was saved by a training that "
                "kept none; train in another directory to have one"
            )
        log.restore_log(state["log"])

    def _reset(self, seed: int) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed)
        self._seeds.append(seed)
        self._digests.append(_digest(observation, 0.0, False, False))
        self._next_reset_is_fresh = not self._life_loss
        self.observation, self.episode_over = observation, False
        return observation, info

    def _forget(self) -> None:
        self._seeds: list[int] = []
        self._actions: list[np.ndarray[Any, Any]] = []
        self._digests: list[int] = []

    def _name(self) -> str:
        spec = self.env.spec
        return spec.id if spec is not None else type(self.env.unwrapped).__name__


def _log_of(env: gymnasium.Env[Any, Any]) -> KeepsLog | None:
    while not isinstance(env, KeepsLog):
        if not isinstance(env, gymnasium.Wrapper):
            return None
        env = env.env
    return env


def _digest(observation: Any, reward: Any, terminated: bool, truncated: bool) -> int:
    outcome = np.array([float(reward), float(terminated), float(truncated)], np.float64)
    return _digest_observation(observation, zlib.crc32(outcome.tobytes()))


def _digest_observation(observation: Any, start: int) -> int:
    if isinstance(observation, dict):
        for key in sorted(observation):
            start = _digest_observation(observation[key], zlib.crc32(str(key).encode(), start))
        return start
    if isinstance(observation, tuple):
        for part in observation:
            start = _digest_observation(part, start)
        return start
    return zlib.crc32(np.ascontiguousarray(observation).tobytes(), start)
