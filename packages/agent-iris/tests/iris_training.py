"""A training of a few seconds with everything in it; `python iris_training.py DIRECTORY` prints its digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from wm_agent_iris.components import LearningComponent
from wm_agent_iris.config import (
    ActorCriticConfig,
    ComponentSchedule,
    ImaginationConfig,
    IRISConfig,
    TokenizerConfig,
    TrainingConfig,
    WorldModelConfig,
)
from wm_agent_iris.trainer import IRISTrainer

SHORT = IRISConfig(
    tokenizer=TokenizerConfig(
        image_size=16,
        architecture="strided",
        channels=8,
        channel_multipliers=(1, 1),
        vocabulary_size=16,
        embedding_dim=8,
        codebook="ema",
        perceptual_weight=0.0,
    ),
    world_model=WorldModelConfig(timesteps=3, embedding_dim=16, layers=1, heads=2),
    actor_critic=ActorCriticConfig(channels=(4, 4), lstm_dim=8),
    imagination=ImaginationConfig(horizon=3, burn_in=2),
    training=TrainingConfig(
        epochs=8,
        collection_epochs=7,
        env_steps_per_epoch=11,
        prefill_steps=20,
        replay_capacity=80,
        tokenizer=ComponentSchedule(start_after_epoch=0, steps_per_epoch=2, batch_size=8),
        world_model=ComponentSchedule(start_after_epoch=1, steps_per_epoch=2, batch_size=4, weight_decay=0.01),
        actor_critic=ComponentSchedule(start_after_epoch=2, steps_per_epoch=2, batch_size=4),
        evaluate_every=3,
        evaluation_episodes=3,
        pictures_every=4,
        checkpoint_every=2,
    ),
)


def short(**training: Any) -> IRISConfig:
    """`SHORT` with other training values."""
    return SHORT.model_copy(update={"training": SHORT.training.model_copy(update=training)})


class Squares(gymnasium.Env[Any, Any]):
    """A bright square walks on a dark picture; three actions, numbered from 5. Ends at a border, or cut at 9 steps."""

    def __init__(self, shape: tuple[int, ...] = (20, 20)) -> None:
        self.action_space = gymnasium.spaces.Discrete(3, start=5)
        self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.age = 2 + int(self.np_random.integers(2)), 0
        return self._image(), {}

    def step(self, action: int) -> Any:
        assert self.action_space.contains(action), f"action {action}"
        self.place += int(action) - 6
        self.age += 1
        return self._image(), float(self.place >= 5), not 0 < self.place < 5, self.age == 9, {}

    def _image(self) -> np.ndarray[Any, Any]:
        image = np.zeros((20, 20), np.uint8)
        at = min(max(self.place, 0), 4) * 4
        image[8:12, at : at + 4] = 255
        shape = self.observation_space.shape
        assert shape is not None
        if len(shape) == 2:
            return image
        return np.broadcast_to(image if shape[0] < 20 else image[..., None], shape).copy()


def die_at(update: int, die: Callable[[], None]) -> None:
    """From now on, `die` is called in this process's `update`-th update of any component."""
    seen, step = 0, LearningComponent._step

    def dying(self: LearningComponent, loss: torch.Tensor) -> torch.Tensor:
        nonlocal seen
        seen += 1
        if seen == update:
            die()
        return step(self, loss)

    LearningComponent._step = dying  # type: ignore[method-assign]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(digest(IRISTrainer("wm/Catch-v0", config=SHORT, directory=sys.argv[1], seed=3).train()))
