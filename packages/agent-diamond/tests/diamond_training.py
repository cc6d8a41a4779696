"""A training of a few seconds with everything in it; `python diamond_training.py DIRECTORY` prints its digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from wm_agent_diamond.components import LearningComponent
from wm_agent_diamond.config import (
    ActorCriticConfig,
    DenoiserConfig,
    DiamondConfig,
    ImaginationConfig,
    RewEndModelConfig,
    SamplerConfig,
)
from wm_agent_diamond.config_training import CollectionConfig, ComponentSchedule, TrainingConfig
from wm_agent_diamond.settings import with_overrides
from wm_agent_diamond.trainer import DiamondTrainer

SHORT = DiamondConfig(
    denoiser=DenoiserConfig(
        image_size=16,
        context_frames=2,
        channels=(8, 8),
        residual_blocks=(1, 1),
        middle_blocks=1,
        middle_attention=True,
        condition_dim=16,
        group_size=8,
    ),
    sampler=SamplerConfig(steps=2),
    rew_end_model=RewEndModelConfig(
        channels=(8, 8), residual_blocks=(1, 1), middle_blocks=1, condition_dim=8, group_size=8, hidden_dim=8
    ),
    actor_critic=ActorCriticConfig(channels=(8, 8), group_size=8, hidden_dim=8),
    imagination=ImaginationConfig(horizon=3),
    training=TrainingConfig(
        collection=CollectionConfig(
            initial_steps=20,
            max_initial_steps=42,
            min_rare_rewards=4,
            initial_actions="uniform",
            steps_per_epoch=11,
            max_env_steps=86,
            epsilon=0.1,
            replay_capacity=80,
        ),
        denoiser=ComponentSchedule(first_steps=3, steps_per_epoch=2, batch_size=4, warmup_steps=4, weight_decay=0.01),
        rew_end_model=ComponentSchedule(first_steps=2, steps_per_epoch=2, batch_size=4, warmup_steps=4),
        actor_critic=ComponentSchedule(first_steps=1, steps_per_epoch=2, batch_size=4, micro_batch_size=2),
        final_epochs=1,
        evaluate_every=3,
        evaluation_episodes=2,
        final_evaluation_episodes=3,
        pictures_every=4,
        checkpoint_every=2,
    ),
)
"""Seven epochs; dreams go on across updates and checkpoints."""


def short(**training: Any) -> DiamondConfig:
    """`SHORT` with other training values, `__` for a dot in their names."""
    return with_overrides(SHORT, {f"training.{name.replace('__', '.')}": value for name, value in training.items()})


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


def write_episodes(directory: Path, count: int = 8) -> Path:
    """Episodes of `Squares` with actions at random, a file each."""
    directory.mkdir()
    env, rng = Squares(), np.random.default_rng(0)
    for number in range(count):
        frames, actions, rewards, over, terminated = [env.reset(seed=number)[0]], [], [], False, False
        while not over:
            actions.append(int(rng.integers(3)))
            frame, reward, terminated, truncated, _ = env.step(actions[-1] + 5)
            frames.append(frame)
            rewards.append(reward)
            over = terminated or truncated
        np.savez(
            directory / f"{number}.npz",
            frames=np.stack(frames),
            actions=np.array(actions),
            rewards=np.array(rewards),
            terminated=terminated,
        )
    return directory


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
    print(digest(DiamondTrainer("wm/Catch-v0", config=SHORT, directory=sys.argv[1], seed=3).train()))
