"""What the smallest configurations of the three versions have in common: Catch, in minutes on one processor core."""

from __future__ import annotations

from typing import Any

from wm_agent_dreamer.config_training import TrainingConfig

TINY_IMAGE_SIZE = 32
TINY_IMAGES: dict[str, Any] = {"architecture": "same", "depth": 8, "multipliers": (1, 2, 4)}
TINY_VECTORS: dict[str, Any] = {"vector_layers": 2, "vector_units": 64}
TINY_TRAINING = TrainingConfig(
    env_steps=8_000,
    env_steps_per_epoch=400,
    num_envs=8,
    prefill_steps=500,
    train_ratio=40,
    world_model_first_updates=300,
    batch_size=16,
    sequence_length=10,
    replay_capacity=100_000,
    evaluate_every=5,
    evaluation_episodes=32,
    pictures_every=5,
)
"""An update every four steps. The policy waits until there is a world model to learn in."""
