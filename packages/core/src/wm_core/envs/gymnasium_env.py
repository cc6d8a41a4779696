"""What an `EnvSpec` asks for, on top of any Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from wm_core.envs.checks import check_observation_bytes
from wm_core.envs.images import Frame, resize, to_gray
from wm_core.envs.stack import FrameStack
from wm_core.envs.steps import start_of, step_of
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

EMULATOR_FIELDS = (
    "max_pool",
    "sticky_actions",
    "noop_max",
    "fire_on_reset",
    "life_loss_ends_episode",
    "full_action_space",
)
"""Fields that mean something on an Atari console only."""


def preprocess(env: gymnasium.Env[Any, Any], spec: EnvSpec) -> gymnasium.Env[Any, Any]:
    """`env` with the specification's observation, size, frame skip, time limit, reward clipping and stacking."""
    wrapped: gymnasium.Env[Any, Any] = Preprocessed(env, spec)
    if spec.frame_stack > 1:
        space = wrapped.observation_space
        if not isinstance(space, Box):
            raise UsageError(
                f"frame_stack={spec.frame_stack} needs array observations, and those of {spec.id} are "
                f"{space}; set observation=rgb"
            )
        check_observation_bytes(spec, int(np.prod(space.shape, dtype=object)) * space.dtype.itemsize)
        wrapped = FrameStack(wrapped, spec.frame_stack)
    return wrapped


class Preprocessed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Images are uint8 `(H, W, 3)` RGB or `(H, W, 1)` gray; other observations stay as they are.

    Where 'rgb' or 'gray' is asked for and the environment's own observation is no picture, it is rendered. A frame
    is one step of the environment; `info["frames"]` counts them.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], spec: EnvSpec) -> None:
        super().__init__(env)
        self._spec = spec
        self._frames = 0
        self._rng = np.random.default_rng()
        native_image = is_image(env.observation_space)
        self._renders = spec.observation != "native" and not native_image
        self._is_image = spec.observation != "native" or native_image
        if self._is_image:
            example = self._example(env)
            self.observation_space = Box(0, 255, self._picture(example).shape, np.uint8)
        elif spec.image_size is not None:
            raise UsageError(
                f"image_size={spec.image_size} needs pictures, and observations of {spec.id} are "
                f"{env.observation_space}; set observation=rgb to render it"
            )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = start_of(self.env.reset(seed=seed, options=options))
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._frames = 0
        return self._observation(observation), {**info, "frames": 0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Hold the action for `frame_skip` frames or until the end; the reward is the sum, or its sign."""
        skip, limit = self._spec.frame_skip, self._spec.max_frames
        planned = skip if isinstance(skip, int) else int(self._rng.integers(*skip))
        total = 0.0
        for _ in range(planned):
            observation, reward, terminated, truncated, info = step_of(self.env.step(action))
            total += reward
            self._frames += 1
            truncated = truncated or (limit is not None and self._frames >= limit and not terminated)
            if terminated or truncated:
                break
        if self._spec.clip_rewards:
            total = float(np.sign(total))
        info = {**info, "frames": self._frames}
        return self._observation(observation), total, terminated, truncated, info

    def _observation(self, observation: Any) -> Any:
        if not self._is_image:
            return observation
        return self._picture(self.env.render() if self._renders else observation)

    def _picture(self, frame: Any) -> Frame:
        frame = np.asarray(frame)
        if frame.ndim == 3 and frame.shape[2] == 1:
            frame = frame[:, :, 0]
        if self._spec.observation == "rgb" and frame.ndim == 2:
            frame = np.repeat(frame[:, :, None], 3, axis=2)
        if self._spec.observation == "gray" and frame.ndim == 3:
            frame = to_gray(frame)
        resized = resize(frame, self._spec.image_size, self._spec.resize)
        return resized[:, :, None] if resized.ndim == 2 else resized

    def _example(self, env: gymnasium.Env[Any, Any]) -> Any:
        if not self._renders:
            return np.zeros(env.observation_space.shape or (), np.uint8)
        env.reset(seed=0)
        frame: Any = env.render()
        if not isinstance(frame, np.ndarray) or frame.ndim != 3:
            raise UsageError(
                f"{self._spec.id} renders no RGB frame (render() gave {type(frame).__name__}); set observation=native"
            )
        return frame


def is_image(space: gymnasium.Space[Any]) -> bool:
    """Whether observations are 8-bit pictures: `(H, W)`, `(H, W, 1)` or `(H, W, 3)`."""
    if not isinstance(space, Box) or space.dtype != np.uint8:
        return False
    return len(space.shape) == 2 or (len(space.shape) == 3 and space.shape[2] in (1, 3))
