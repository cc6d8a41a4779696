"""A game behind the bridge as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from wm_core.errors import EnvironmentFailure, UsageError
from wm_env_minecraft.actions import ActionSet, translated
from wm_env_minecraft.bridge import Bridge, Timeouts

Frame = NDArray[np.uint8]


class MinecraftEnv(gymnasium.Env[Frame, int]):
    """Observations: what the player sees, uint8 RGB `(H, W, 3)` in the game's own size. Actions: those of the set.

    `info` has everything else that the game shows (`inventory`, `equipped_items`, `life_stats`, ...) and says. A step
    that ends at the task's own limit is truncated, not terminated. Errors of the game and of the bridge are
    `EnvironmentFailure`s; `reset` then starts a new interpreter where the old one is gone.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(
        self,
        backend: Literal["minerl", "minedojo"],
        task: str,
        *,
        python: Path,
        action_set: ActionSet,
        arguments: Mapping[str, Any] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._request = {"backend": backend, "task": task, "arguments": dict(arguments or {})}
        self._python, self._timeouts, self._action_set = python, timeouts, action_set
        self.render_mode = "rgb_array"
        self._bridge, made = self._opened()
        self._actions = translated(action_set, made["action_space"], task)
        self._limit: int | None = made["max_episode_steps"]
        self.observation_space = Box(0, 255, self._picture_shape(made["observation_space"]), np.uint8)
        self.action_space: Any = Discrete(len(self._actions))
        self.versions: dict[str, Any] = {**self._bridge.versions, **made["versions"]}
        self._frame: Frame = np.zeros(self.observation_space.shape, np.uint8)
        self._steps, self._playing = 0, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode. The seed is handed over before: both libraries read it at the reset only."""
        super().reset(seed=seed)
        if not self._bridge.alive:
            self._bridge, _ = self._opened()
        self._playing = False
        if seed is not None:
            self._bridge.call("seed", seed=seed)
        self._frame, info = self._seen(self._bridge.call("reset")["observation"])
        self._steps, self._playing = 0, True
        return self._frame, info

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        """One step of a twentieth of a second. None after an end: the libraries raise there, or make things up."""
        if not self._playing:
            raise RuntimeError("the episode is over: reset() comes next")
        try:
            answer = self._bridge.call("step", action=self._actions[action])
        except EnvironmentFailure:
            self._playing = False
            raise
        self._steps += 1
        self._frame, info = self._seen(answer["observation"])
        done, said = answer["done"], answer["info"]
        truncated = done and self._is_time_limit(said)
        self._playing = not done
        return self._frame, answer["reward"], done and not truncated, truncated, {**said, **info}

    def render(self) -> Any:
        """The last observation."""
        return self._frame

    def close(self) -> None:
        """Close the game and end its interpreter."""
        self._bridge.close()

    def _opened(self) -> tuple[Bridge, dict[str, Any]]:
        bridge = Bridge(self._python, self._timeouts)
        try:
            return bridge, bridge.call("make", **self._request)
        except BaseException:
            bridge.close()
            raise

    def _is_time_limit(self, said: Mapping[str, Any]) -> bool:
        """By gym's own word; or the game has ended in the limit's last step, where its own clock runs out too."""
        return bool(said.get("TimeLimit.truncated")) or (self._limit is not None and self._steps >= self._limit)

    def _seen(self, observation: Mapping[str, Any]) -> tuple[Frame, dict[str, Any]]:
        rest = dict(observation)
        frame = rest.pop("pov") if "pov" in rest else np.moveaxis(rest.pop("rgb"), 0, 2)
        return np.ascontiguousarray(frame, np.uint8), rest

    def _picture_shape(self, space: Mapping[str, Any]) -> tuple[int, ...]:
        spaces = space.get("spaces", {})
        if "pov" in spaces:
            return tuple(spaces["pov"]["shape"])
        if "rgb" in spaces:
            channels, height, width = spaces["rgb"]["shape"]
            return height, width, channels
        self._bridge.close()
        raise UsageError(f"{self._request['task']} shows no picture (it has: {', '.join(spaces) or 'nothing'})")
