"""Named configurations."""

from __future__ import annotations

from wm_agent_diamond.config import (
    ActorCriticConfig,
    DenoiserConfig,
    DiamondConfig,
    ImaginationConfig,
    RewEndModelConfig,
    SamplerConfig,
)
from wm_agent_diamond.config_training import CollectionConfig, ComponentSchedule, TrainingConfig
from wm_core.errors import UsageError

PAPER = DiamondConfig()

SMALL_GPU = DiamondConfig(
    training=TrainingConfig(
        denoiser=PAPER.training.denoiser.model_copy(update={"micro_batch_size": 8}),
        rew_end_model=PAPER.training.rew_end_model.model_copy(update={"micro_batch_size": 8}),
    ),
)
"""For 4 to 8 GB: the paper's values, the batches of both models in parts whose gradients add up."""

TINY = DiamondConfig(
    denoiser=DenoiserConfig(
        image_size=16,
        context_frames=2,
        channels=(16, 32),
        residual_blocks=(1, 1),
        middle_blocks=1,
        middle_attention=False,
        condition_dim=64,
        group_size=8,
    ),
    sampler=SamplerConfig(steps=1),
    rew_end_model=RewEndModelConfig(
        architecture="strided",
        channels=(16, 32),
        residual_blocks=(),
        middle_blocks=1,
        group_size=8,
        memory="none",
        hidden_dim=64,
        condition_dim=16,
    ),
    actor_critic=ActorCriticConfig(
        architecture="strided",
        channels=(16, 32),
        group_size=8,
        memory="none",
        hidden_dim=64,
        input_shift=1.0,
        normalise_features=True,
    ),
    imagination=ImaginationConfig(horizon=9, entropy_weight=0.03, value_weight=0.5, after_end="stop"),
    training=TrainingConfig(
        collection=CollectionConfig(
            initial_steps=2700,
            max_initial_steps=2700,
            initial_actions="uniform",
            steps_per_epoch=90,
            max_env_steps=2700 + 20 * 90,
            replay_capacity=20_000,
        ),
        denoiser=ComponentSchedule(
            first_steps=1000, steps_per_epoch=20, learning_rate=1e-3, weight_decay=1e-2, max_grad_norm=1.0
        ),
        rew_end_model=ComponentSchedule(first_steps=300, steps_per_epoch=10, learning_rate=1e-3, weight_decay=1e-2),
        actor_critic=ComponentSchedule(
            first_steps=60, steps_per_epoch=60, batch_size=64, learning_rate=1e-3, warmup_steps=0
        ),
        final_epochs=0,
        age_weights=(1.0,),
        denoiser_sees_final_frames=True,
        evaluate_every=5,
        evaluation_episodes=50,
        final_evaluation_episodes=100,
        pictures_every=10,
        checkpoint_every=5,
    ),
)
"""Learns Catch on two CPU cores."""

PRESETS = {"tiny": TINY, "small-gpu": SMALL_GPU, "paper": PAPER}


def default_preset(backend: str) -> str:
    """The preset where none is named: `tiny` on the built-in Catch, which is for trying out; else the paper's."""
    return "tiny" if backend == "catch" else "paper"


def preset(name: str) -> DiamondConfig:
    """The configuration of a preset's name; `UsageError` for any other."""
    if name not in PRESETS:
        raise UsageError(f"diamond has no preset '{name}'; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
