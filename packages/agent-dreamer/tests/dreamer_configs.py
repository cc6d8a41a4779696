"""Small agents of each version, and batches of noise."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wm_agent_dreamer.agent import DreamerAgent
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
from wm_agent_dreamer.layouts import ActionLayout, Observation, ObservationLayout, StreamBatch

ADAMS = OptimizersConfig(
    joint=None,
    world_model=AdamConfig(learning_rate=1e-3),
    actor=AdamConfig(learning_rate=1e-3),
    critic=AdamConfig(learning_rate=1e-3),
)

V3 = DreamerConfig(
    encoder=EncoderConfig(depth=4, multipliers=(1, 2, 2), vector_units=16),
    decoder=DecoderConfig(depth=4, multipliers=(1, 2, 2), blocks=4, units=16, vector_units=16),
    rssm=RSSMConfig(deter=32, hidden=16, stoch=4, classes=4, blocks=4),
    heads=HeadsConfig(units=16, bins=21),
    imagination=ImaginationConfig(horizon=4),
)
V2 = DreamerConfig(
    initialisation="glorot_uniform",
    encoder=EncoderConfig(
        architecture="same", depth=4, multipliers=(1, 2, 2), activation="elu", norm="none", symlog_vector=False
    ),
    decoder=DecoderConfig(
        architecture="same",
        depth=4,
        multipliers=(1, 2, 2),
        activation="elu",
        norm="none",
        output="linear",
        image_loss="normal",
        vector_loss="normal",
    ),
    rssm=RSSMConfig(
        deter=32,
        hidden=16,
        stoch=4,
        classes=4,
        gru="layer_norm",
        norm="none",
        activation="elu",
        unimix=0.0,
        prior_layers=1,
    ),
    heads=HeadsConfig(units=16, activation="elu", norm="none", reward="normal"),
    loss=LossConfig(
        dynamics_scale=0.8, representation_scale=0.2, free_nats=0.0, free_per="batch_mean", replay_value=0.0
    ),
    actor=ActorConfig(grad="auto", continuous="truncated_normal", unimix=0.0, normalise_returns=False),
    critic=CriticConfig(kind="normal", slow="target", slow_every=3, slow_fraction=1.0),
    imagination=ImaginationConfig(horizon=4, gamma=0.9, first_continue="replay", value_counts="arrival"),
    optimizers=ADAMS,
)
V1 = V2.model_copy(
    update={
        "rssm": V2.rssm.model_copy(update={"gru": "keras", "classes": 0, "stoch": 6}),
        "loss": LossConfig(
            dynamics_scale=1.0, representation_scale=1.0, free_nats=3.0, free_per="batch_mean", replay_value=0.0
        ),
        "actor": ActorConfig(
            grad="dynamics", continuous="tanh_normal", init_std=5.0, min_std=1e-4, entropy=0.0, normalise_returns=False
        ),
        "critic": CriticConfig(kind="normal", slow="none"),
    }
)
VERSIONS = {"v1": V1, "v2": V2, "v3": V3}

PIXELS = ObservationLayout(image=(3, 16, 16))
DISCRETE = ActionLayout(kind="discrete", size=3)
CONTINUOUS = ActionLayout(kind="continuous", size=2)


def changed(config: DreamerConfig, **parts: dict[str, Any]) -> DreamerConfig:
    """`config` with some fields of some parts set otherwise."""
    return config.model_copy(update={n: getattr(config, n).model_copy(update=fields) for n, fields in parts.items()})


def awake(agent: DreamerAgent) -> DreamerAgent:
    """The agent with weights away from the zeros and small values it starts with, so that its outputs differ."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return agent


def make_agent(
    config: DreamerConfig, action: ActionLayout = DISCRETE, observation: ObservationLayout = PIXELS
) -> DreamerAgent:
    return awake(DreamerAgent.from_config(config, observation=observation, action=action))


def noise_batch(
    action: ActionLayout = DISCRETE,
    observation: ObservationLayout = PIXELS,
    batch: int = 3,
    steps: int = 5,
    seed: int = 0,
) -> StreamBatch:
    """Streams of noise that open episodes at random and end one."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator)

    actions = 2 * draw(batch, steps, action.size) - 1
    if action.kind == "discrete":
        actions = torch.nn.functional.one_hot(actions.argmax(-1), action.size).float()
    seen = Observation(
        None if observation.image is None else draw(batch, steps, *observation.image),
        None if observation.vector is None else draw(batch, steps, observation.vector),
    )
    is_first = draw(batch, steps) < 0.2
    is_first[0, 2] = True
    is_terminal = torch.zeros(batch, steps, dtype=torch.bool)
    is_terminal[0, 1] = True
    return StreamBatch(seen, actions, draw(batch, steps), is_first, is_terminal)
