"""MineRL and MineDojo as one kind of thing: made by name, and honest about a lost game."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wm_env_minecraft.server.spaces import as_action


class GameLost(Exception):
    """The library lost its Minecraft, and says so with a made-up end of the episode."""


class Game:
    """An environment of an old gym: `reset() -> observation`, `step(action) -> (observation, reward, done, info)`."""

    package = ""
    env: Any

    @property
    def max_episode_steps(self) -> int | None:
        """The task's own limit."""
        limit = getattr(getattr(self.env, "spec", None), "max_episode_steps", None)
        return None if limit is None else int(limit)

    def reset(self) -> Any:
        """Begin an episode."""
        return self.env.reset()

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """One step; `GameLost` where the library reports an end that is none."""
        raise NotImplementedError


class MineRL(Game):
    """A registered task, e.g. 'MineRLTreechop-v0'."""

    package = "minerl"

    def __init__(self, task: str, arguments: dict[str, Any]) -> None:
        import_module("minerl")
        self.env = import_module("gym").make(task, **arguments)

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """After a socket error MineRL returns a random observation, 0, True and an info with 'error'."""
        observation, reward, done, info = self.env.step(as_action(action, self.env.action_space))
        if done and "error" in info:
            raise GameLost(f"MineRL lost its Minecraft: {info['error']}")
        return observation, reward, done, info


class MineDojo(Game):
    """A task of `minedojo.make`, e.g. 'harvest_milk'."""

    package = "minedojo"

    def __init__(self, task: str, arguments: dict[str, Any]) -> None:
        self.env = import_module("minedojo").make(task, **arguments)

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """After a socket error MineDojo ends the episode, and its last observation stays the very same object."""
        simulator = self.env.unwrapped
        before = simulator.prev_obs
        observation, reward, done, info = self.env.step(as_action(action, self.env.action_space))
        if done and simulator.prev_obs is before:
            raise GameLost("MineDojo lost its Minecraft: no step was taken")
        return observation, reward, done, info


GAMES = {"minerl": MineRL, "minedojo": MineDojo}
