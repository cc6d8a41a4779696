"""A training of a few seconds with everything in it; `python dreamer_training.py DIRECTORY` prints its digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from dreamer_configs import V3

from wm_agent_dreamer.components import Learning
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.trainer import DreamerTrainer

TRAINING = TrainingConfig(
    env_steps=240,
    env_steps_per_epoch=30,
    num_envs=3,
    prefill_steps=45,
    train_ratio=3.2,
    pretrain_updates=2,
    world_model_first_updates=4,
    batch_size=4,
    sequence_length=8,
    replay_capacity=120,
    epsilon=0.2,
    action_noise=0.1,
    evaluate_every=3,
    evaluation_episodes=3,
    pictures_every=4,
    checkpoint_every=2,
)
SHORT = V3.model_copy(update={"training": TRAINING})
"""Eight epochs of ten rounds; an update every ten steps, 21 in all."""


def short(config: DreamerConfig = V3, **training: Any) -> DreamerConfig:
    """A configuration with `TRAINING` and some other values of it."""
    return config.model_copy(update={"training": TRAINING.model_copy(update=training)})


class Walk(gymnasium.Env[Any, Any]):
    """A bright square walks on a dark picture; actions move it. Ends at a border, or is cut at 9 steps.

    Observations are pictures, the place as a vector, or both, by `shows`; actions are discrete, numbered from 5, or
    one number in [-3, 1], whose sign about -1 is the direction.
    """

    def __init__(self, shows: str = "image", continuous: bool = False, shape: tuple[int, ...] = (20, 24)) -> None:
        image = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        vector = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self._shows = shows
        spaces = {"image": image, "vector": vector, "both": gymnasium.spaces.Dict({"a": image, "b": vector})}
        self.observation_space = spaces[shows]
        self._shape = shape
        self.action_space = (
            gymnasium.spaces.Box(-3, 1, (1,), np.float32) if continuous else gymnasium.spaces.Discrete(3, start=5)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.age = 2 + int(self.np_random.integers(2)), 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), f"action {action!r}"
        discrete = isinstance(self.action_space, gymnasium.spaces.Discrete)
        self.place += int(action) - 6 if discrete else int(np.sign(float(action[0]) + 1))
        self.age += 1
        return self._observation(), float(self.place >= 5), not 0 < self.place < 5, self.age == 9, {}

    def _observation(self) -> Any:
        vector = np.array([self.place, self.age], np.float32)
        if self._shows == "vector":
            return vector
        image = np.zeros((20, 24), np.uint8)
        at = min(max(self.place, 0), 4) * 4
        image[8:12, at : at + 4] = 255
        if len(self._shape) == 3:
            image = np.broadcast_to(image if self._shape[0] < 20 else image[..., None], self._shape)
        image = image.copy()
        return image if self._shows == "image" else {"a": image, "b": vector}


def die_at(update: int, die: Callable[[], None]) -> None:
    """From now on, `die` is called in this process's `update`-th update."""
    seen, learn = 0, Learning.update

    def dying(self: Learning) -> Any:
        nonlocal seen
        seen += 1
        if seen == update:
            die()
        return learn(self)

    Learning.update = dying  # type: ignore[method-assign]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(
        digest(DreamerTrainer("wm/Catch-v0", config=SHORT, image_size=(16, 16), directory=sys.argv[1], seed=3).train())
    )
