"""DreamerV2 (Hafner et al. 2021, arXiv:2010.02193, appendix D, and its published configuration)."""

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

_DECAY = 1e-6

ATARI = DreamerConfig(
    initialisation="glorot_uniform",
    encoder=EncoderConfig(
        architecture="valid",
        depth=48,
        multipliers=(1, 2, 4, 8),
        activation="elu",
        norm="none",
        vector_layers=4,
        vector_units=400,
        vector_activation="elu",
        symlog_vector=False,
    ),
    decoder=DecoderConfig(
        architecture="valid",
        depth=48,
        multipliers=(1, 2, 4, 8),
        activation="elu",
        norm="none",
        output="linear",
        image_loss="normal",
        vector_layers=4,
        vector_units=400,
        vector_activation="elu",
        vector_loss="normal",
    ),
    rssm=RSSMConfig(
        deter=600,
        hidden=600,
        stoch=32,
        classes=32,
        gru="layer_norm",
        prior_layers=1,
        posterior_layers=1,
        activation="elu",
        norm="none",
        unimix=0.0,
        std="sigmoid2",
        min_std=0.1,
    ),
    heads=HeadsConfig(
        units=400,
        activation="elu",
        norm="none",
        reward_layers=4,
        continue_layers=4,
        actor_layers=4,
        critic_layers=4,
        reward="normal",
        actor_output_scale=1.0,
        scalar_output_scale=1.0,
    ),
    loss=LossConfig(
        dynamics_scale=0.08,
        representation_scale=0.02,
        free_nats=0.0,
        free_per="batch_mean",
        continue_scale=5.0,
        replay_value=0.0,
    ),
    actor=ActorConfig(
        grad="auto",
        continuous="truncated_normal",
        min_std=0.1,
        init_std=1.0,
        unimix=0.0,
        entropy=1e-3,
        normalise_returns=False,
    ),
    critic=CriticConfig(kind="normal", slow="target", slow_every=100, slow_fraction=1.0),
    imagination=ImaginationConfig(horizon=15, gamma=0.999, first_continue="replay", value_counts="arrival"),
    optimizers=OptimizersConfig(
        joint=None,
        world_model=AdamConfig(learning_rate=2e-4, weight_decay=_DECAY),
        actor=AdamConfig(learning_rate=4e-5, weight_decay=_DECAY),
        critic=AdamConfig(learning_rate=1e-4, weight_decay=_DECAY),
    ),
    training=TrainingConfig(
        env_steps=50_000_000,
        env_steps_per_epoch=100_000,
        prefill_steps=50_000,
        train_ratio=50,
        pretrain_updates=1,
        batch_size=16,
        sequence_length=50,
        replay_capacity=2_000_000,
        reward_transform="tanh",
    ),
)
"""200 million frames; the KL has scale 0.1, of which a share of 0.8 trains the prior; an update every 16 steps."""

DMC = ATARI.model_copy(
    update={
        "rssm": ATARI.rssm.model_copy(update={"deter": 200, "hidden": 200}),
        "heads": ATARI.heads.model_copy(update={"continue_layers": 0}),
        "loss": ATARI.loss.model_copy(
            update={"dynamics_scale": 0.8, "representation_scale": 0.2, "free_nats": 1.0, "continue_scale": 1.0}
        ),
        "actor": ATARI.actor.model_copy(update={"entropy": 1e-4}),
        "imagination": ATARI.imagination.model_copy(update={"gamma": 0.99}),
        "optimizers": OptimizersConfig(
            joint=None,
            world_model=AdamConfig(learning_rate=3e-4, weight_decay=_DECAY),
            actor=AdamConfig(learning_rate=8e-5, weight_decay=_DECAY),
            critic=AdamConfig(learning_rate=8e-5, weight_decay=_DECAY),
        ),
        "training": ATARI.training.model_copy(
            update={
                "env_steps": 5_000_000,
                "env_steps_per_epoch": 10_000,
                "prefill_steps": 1_000,
                "train_ratio": 160.0,
                "pretrain_updates": 100,
                "reward_transform": "none",
            }
        ),
    }
)
"""Continuous control from pixels: an update every 5 steps, no end head, gradients through the dynamics."""

TINY = DreamerConfig(
    initialisation="glorot_uniform",
    encoder=EncoderConfig(**TINY_IMAGES, **TINY_VECTORS, activation="elu", norm="layer", symlog_vector=False),
    decoder=DecoderConfig(
        **TINY_IMAGES,
        **TINY_VECTORS,
        activation="elu",
        norm="layer",
        output="linear",
        image_loss="normal",
        vector_loss="normal",
    ),
    rssm=ATARI.rssm.model_copy(update={"deter": 64, "hidden": 64, "stoch": 8, "classes": 8, "norm": "layer"}),
    heads=ATARI.heads.model_copy(
        update={"units": 64, "reward_layers": 2, "continue_layers": 2, "actor_layers": 2, "critic_layers": 2}
    ),
    loss=ATARI.loss.model_copy(update={"continue_scale": 1.0}),
    actor=ATARI.actor.model_copy(update={"entropy": 0.06}),
    critic=ATARI.critic,
    imagination=ImaginationConfig(horizon=9, gamma=0.99, starts=96, first_continue="replay", value_counts="arrival"),
    optimizers=OptimizersConfig(
        joint=None,
        world_model=AdamConfig(learning_rate=2e-3, weight_decay=_DECAY),
        actor=AdamConfig(learning_rate=4e-4, weight_decay=_DECAY),
        critic=AdamConfig(learning_rate=1e-3, weight_decay=_DECAY),
    ),
    training=TINY_TRAINING.model_copy(update={"world_model_first_updates": 400}),
)
"""Small enough for a processor core. Layer norm, as in the published values for Crafter: without it, latents collapse
to constants at this learning rate. More entropy and a longer wait than V3, whose returns are normalised: the policy
would otherwise be certain before the world model is right."""

PRESETS = {"tiny": TINY, "dmc": DMC, "atari": ATARI}
