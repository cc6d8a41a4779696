"""The contract of wm-core, for the three versions."""

from __future__ import annotations

from typing import Any, ClassVar

from wm_agent_dreamer.plugin import DREAMER_V1, DREAMER_V2, DREAMER_V3
from wm_core.testing import AgentConformance

FEW_UPDATES: dict[str, Any] = {
    "training.prefill_steps": 48,
    "training.env_steps_per_epoch": 48,
    "training.train_ratio": 2.0,
    "training.world_model_first_updates": 1,
    "training.batch_size": 4,
    "training.sequence_length": 5,
    "training.replay_capacity": 1000,
    "training.evaluation_episodes": 2,
    "imagination.horizon": 3,
    "imagination.starts": 8,
}


class TestDreamerV1(AgentConformance):
    manifest = DREAMER_V1
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES


class TestDreamerV2(AgentConformance):
    manifest = DREAMER_V2
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES


class TestDreamerV3(AgentConformance):
    manifest = DREAMER_V3
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES
