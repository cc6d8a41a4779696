"""DreamerV1 (Hafner et al. 2020, arXiv:1912.01603, appendix A) as values of the configuration."""

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

DMC = DreamerConfig(
    initialisation="glorot_uniform",
    encoder=EncoderConfig(
        architecture="valid",
        depth=32,
        multipliers=(1, 2, 4, 8),
        activation="relu",
        norm="none",
        vector_layers=2,
        vector_units=400,
        vector_activation="elu",
        symlog_vector=False,
    ),
    decoder=DecoderConfig(
        architecture="valid",
        depth=32,
        multipliers=(1, 2, 4, 8),
        activation="relu",
        norm="none",
        output="linear",
        image_loss="normal",
        vector_layers=2,
        vector_units=400,
        vector_activation="elu",
        vector_loss="normal",
    ),
    rssm=RSSMConfig(
        deter=200,
        hidden=200,
        stoch=30,
        classes=0,
        gru="keras",
        prior_layers=1,
        posterior_layers=1,
        activation="elu",
        norm="none",
        unimix=0.0,
        std="softplus",
        min_std=0.1,
    ),
    heads=HeadsConfig(
        units=400,
        activation="elu",
        norm="none",
        reward_layers=2,
        continue_layers=0,
        actor_layers=4,
        critic_layers=3,
        reward="normal",
        actor_output_scale=1.0,
        scalar_output_scale=1.0,
    ),
    loss=LossConfig(
        dynamics_scale=1.0,
        representation_scale=1.0,
        free_nats=3.0,
        free_per="batch_mean",
        replay_value=0.0,
    ),
    actor=ActorConfig(
        grad="dynamics",
        continuous="tanh_normal",
        min_std=1e-4,
        init_std=5.0,
        unimix=0.0,
        entropy=0.0,
        normalise_returns=False,
    ),
    critic=CriticConfig(kind="normal", slow="none"),
    imagination=ImaginationConfig(horizon=15, gamma=0.99, value_counts="arrival"),
    optimizers=OptimizersConfig(
        joint=None,
        world_model=AdamConfig(learning_rate=6e-4, epsilon=1e-7),
        actor=AdamConfig(learning_rate=8e-5, epsilon=1e-7),
        critic=AdamConfig(learning_rate=8e-5, epsilon=1e-7),
    ),
    training=TrainingConfig(
        env_steps=2_500_000,
        prefill_steps=2_500,
        train_ratio=500,
        pretrain_updates=100,
        batch_size=50,
        sequence_length=50,
        action_noise=0.3,
        epsilon=0.4,
        epsilon_final=0.1,
        epsilon_decay_updates=200_000,
    ),
)
"""5 million frames of the DeepMind Control Suite at an action repeat of 2: 100 updates every 500 steps."""

ATARI = DMC.model_copy(
    update={
        "heads": DMC.heads.model_copy(update={"continue_layers": 3}),
        "loss": DMC.loss.model_copy(
            update={"dynamics_scale": 0.1, "representation_scale": 0.1, "continue_scale": 10.0}
        ),
        "imagination": DMC.imagination.model_copy(update={"horizon": 10}),
        "training": DMC.training.model_copy(
            update={"env_steps": 50_000_000, "prefill_steps": 1_250, "train_ratio": 1000.0, "reward_transform": "tanh"}
        ),
    }
)
"""At an action repeat of 4, an end head, and tanh rewards."""

TINY = DreamerConfig(
    initialisation="glorot_uniform",
    encoder=EncoderConfig(**TINY_IMAGES, **TINY_VECTORS, activation="elu", norm="none", symlog_vector=False),
    decoder=DecoderConfig(
        **TINY_IMAGES,
        **TINY_VECTORS,
        activation="elu",
        norm="none",
        output="linear",
        image_loss="normal",
        vector_loss="normal",
    ),
    rssm=DMC.rssm.model_copy(update={"deter": 64, "hidden": 64, "stoch": 32}),
    heads=DMC.heads.model_copy(
        update={"units": 64, "reward_layers": 2, "continue_layers": 2, "actor_layers": 2, "critic_layers": 2}
    ),
    loss=LossConfig(
        dynamics_scale=0.3,
        representation_scale=0.3,
        free_nats=1.0,
        free_per="batch_mean",
        replay_value=0.0,
    ),
    actor=DMC.actor.model_copy(update={"grad": "auto", "entropy": 0.06}),
    critic=DMC.critic,
    imagination=ImaginationConfig(horizon=15, gamma=0.99, starts=96, value_counts="arrival"),
    optimizers=OptimizersConfig(
        joint=None,
        world_model=AdamConfig(learning_rate=2e-3),
        actor=AdamConfig(learning_rate=4e-4),
        critic=AdamConfig(learning_rate=1e-3),
    ),
    training=TINY_TRAINING.model_copy(
        update={"env_steps": 16_000, "sequence_length": 25, "train_ratio": 100.0, "action_noise": 0.3}
    ),
)
"""Small enough for a processor core; discrete actions learn by REINFORCE, continuous ones through the dynamics. Longer
sequences and dreams than V2's and V3's smallest: to swing up a pendulum takes more than nine steps. The paper's V1 has
no entropy bonus; without it, a policy that learns by REINFORCE is soon certain of the wrong action."""

PRESETS = {"tiny": TINY, "dmc": DMC, "atari": ATARI}
