"""DreamerV3 (Hafner et al. 2023, arXiv:2301.04104): its later networks (2024), and the first ones ('2023-s')."""

from __future__ import annotations

from wm_agent_dreamer.config import (
    ActorConfig,
    AdamConfig,
    CriticConfig,
    DecoderConfig,
    DreamerConfig,
    EncoderConfig,
    HeadsConfig,
    ImaginationConfig,
    LossConfig,
    OptimizersConfig,
    RSSMConfig,
)
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.presets_tiny import TINY_IMAGES, TINY_TRAINING, TINY_VECTORS

_TRAINING = TrainingConfig(
    env_steps=10_000_000,
    num_envs=16,
    prefill_steps=2_048,
    train_ratio=32,
    batch_size=16,
    sequence_length=64,
    replay_capacity=5_000_000,
)


def _size(deter: int, units: int, classes: int, depth: int, training: TrainingConfig) -> DreamerConfig:
    """The networks of 2024 scale together: hidden layers and heads have `units`, latents 32 variables."""
    return DreamerConfig(
        encoder=EncoderConfig(depth=depth, vector_units=units),
        decoder=DecoderConfig(depth=depth, units=units, vector_units=units),
        rssm=RSSMConfig(deter=deter, hidden=units, classes=classes),
        heads=HeadsConfig(units=units),
        training=training,
    )


SIZE_12M = _size(deter=2048, units=256, classes=16, depth=16, training=_TRAINING)
SIZE_50M = _size(deter=4096, units=512, classes=32, depth=32, training=_TRAINING)
ATARI_100K = _size(
    deter=8192,
    units=1024,
    classes=64,
    depth=64,
    training=_TRAINING.model_copy(
        update={
            "env_steps": 110_000,
            "env_steps_per_epoch": 5_000,
            "num_envs": 1,
            "prefill_steps": 1_024,
            "train_ratio": 256.0,
            "replay_capacity": 200_000,
        }
    ),
)
"""The published size, 200 million parameters: an update every 4 steps."""

FIRST_S = DreamerConfig(
    initialisation="truncated_normal",
    encoder=EncoderConfig(
        architecture="same", depth=32, multipliers=(1, 2, 4, 8), norm="layer", vector_layers=2, vector_units=512
    ),
    decoder=DecoderConfig(
        architecture="same",
        depth=32,
        multipliers=(1, 2, 4, 8),
        norm="layer",
        output="linear",
        vector_layers=2,
        vector_units=512,
    ),
    rssm=RSSMConfig(
        deter=512,
        hidden=512,
        stoch=32,
        classes=32,
        gru="layer_norm",
        prior_layers=1,
        posterior_layers=1,
        norm="layer",
        initial="learned",
    ),
    heads=HeadsConfig(
        units=512,
        norm="layer",
        reward_layers=2,
        continue_layers=2,
        actor_layers=2,
        critic_layers=2,
        reward="symlog_two_hot",
        actor_output_scale=1.0,
    ),
    loss=LossConfig(dynamics_scale=0.5, representation_scale=0.1, discounted_continue=False, replay_value=0.0),
    actor=ActorConfig(grad="auto"),
    critic=CriticConfig(kind="symlog_two_hot"),
    imagination=ImaginationConfig(gamma=0.997),
    optimizers=OptimizersConfig(joint=None),
    training=_TRAINING.model_copy(update={"num_envs": 1, "train_ratio": 512.0, "replay_capacity": 1_000_000}),
)
"""The first version, size S."""

TINY = DreamerConfig(
    initialisation="truncated_normal",
    encoder=EncoderConfig(**TINY_IMAGES, **TINY_VECTORS, norm="layer"),
    decoder=DecoderConfig(**TINY_IMAGES, **TINY_VECTORS, norm="layer", output="linear"),
    rssm=FIRST_S.rssm.model_copy(update={"deter": 64, "hidden": 64, "stoch": 8, "classes": 8, "initial": "zeros"}),
    heads=FIRST_S.heads.model_copy(update={"units": 64, "bins": 41, "bin_limit": 4.0}),
    loss=FIRST_S.loss,
    actor=ActorConfig(grad="auto", entropy=0.01),
    critic=FIRST_S.critic,
    imagination=ImaginationConfig(horizon=9, gamma=0.99, starts=96),
    optimizers=OptimizersConfig(
        joint=None,
        world_model=AdamConfig(learning_rate=2e-3, epsilon=1e-8, max_grad_norm=1000.0),
        actor=AdamConfig(learning_rate=4e-4),
        critic=AdamConfig(learning_rate=1e-3),
    ),
    training=TINY_TRAINING,
)
"""Small enough for a processor core; the networks of 2023."""

PRESETS = {"tiny": TINY, "size12m": SIZE_12M, "2023-s": FIRST_S, "size50m": SIZE_50M, "atari100k": ATARI_100K}
