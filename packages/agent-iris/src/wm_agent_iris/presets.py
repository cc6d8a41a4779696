"""Named configurations."""

from __future__ import annotations

from wm_agent_iris.config import (
    ActorCriticConfig,
    ComponentSchedule,
    ComputeConfig,
    ImaginationConfig,
    IRISConfig,
    TokenizerConfig,
    TrainingConfig,
    WorldModelConfig,
)
from wm_core.errors import UsageError

PAPER = IRISConfig()

SMALL_GPU = IRISConfig(
    training=TrainingConfig(
        tokenizer=ComponentSchedule(start_after_epoch=5, batch_size=256, micro_batch_size=32),
        world_model=ComponentSchedule(start_after_epoch=25, batch_size=64, micro_batch_size=16, weight_decay=0.01),
        actor_critic=ComponentSchedule(start_after_epoch=50, batch_size=64, micro_batch_size=32),
    ),
    compute=ComputeConfig(gradient_checkpointing=True),
)
"""For 4 to 8 GB: the paper's values, each batch in parts whose gradients add up to the whole one's
(exactly where none is padded)."""

TINY = IRISConfig(
    tokenizer=TokenizerConfig(
        image_size=32,
        architecture="strided",
        channels=16,
        channel_multipliers=(1, 2, 2),
        vocabulary_size=64,
        embedding_dim=16,
        codebook="ema",
        ema_decay=0.97,
        dead_code_threshold=0.03,
        reconstruction_loss="squared_error",
        perceptual_weight=0.0,
        commitment_weight=0.25,
    ),
    world_model=WorldModelConfig(
        timesteps=5,
        embedding_dim=64,
        layers=2,
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
    ),
    actor_critic=ActorCriticConfig(channels=(16, 32, 32), lstm_dim=128),
    imagination=ImaginationConfig(
        horizon=5,
        burn_in=4,
        gamma=0.99,
        entropy_weight=0.05,
        value_weight=0.5,
        stop_at_end=True,
    ),
    training=TrainingConfig(
        epochs=50,
        collection_epochs=50,
        env_steps_per_epoch=45,
        epsilon=0.05,
        prefill_steps=2700,
        replay_capacity=20_000,
        tokenizer=ComponentSchedule(
            start_after_epoch=0,
            stop_after_epoch=1,
            first_steps=1200,
            steps_per_epoch=1,
            batch_size=64,
            learning_rate=2e-3,
        ),
        world_model=ComponentSchedule(
            start_after_epoch=0,
            first_steps=800,
            steps_per_epoch=10,
            batch_size=32,
            learning_rate=2e-3,
            weight_decay=0.01,
            max_grad_norm=1.0,
        ),
        actor_critic=ComponentSchedule(start_after_epoch=0, steps_per_epoch=10, batch_size=96, learning_rate=2e-3),
        evaluate_every=5,
        evaluation_episodes=50,
        pictures_every=10,
        checkpoint_every=5,
    ),
)
"""Learns Catch on two CPU cores."""

PRESETS = {"tiny": TINY, "small-gpu": SMALL_GPU, "paper": PAPER}


def default_preset(backend: str) -> str:
    """The preset where none is named: `tiny` on the built-in Catch, which is for trying out; else the paper's."""
    return "tiny" if backend == "catch" else "paper"


def preset(name: str) -> IRISConfig:
    """The configuration of a preset's name; `UsageError` for any other."""
    if name not in PRESETS:
        raise UsageError(f"iris has no preset '{name}'; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
