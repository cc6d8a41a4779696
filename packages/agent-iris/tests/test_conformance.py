"""The contract of wm-core, with the checkpoint that is shipped and with a training of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from wm_agent_iris.plugin import IRIS
from wm_core.testing import AgentConformance

FEW_UPDATES: dict[str, Any] = {
    "training.prefill_steps": 40,
    "training.env_steps_per_epoch": 30,
    "training.tokenizer.first_steps": 3,
    "training.world_model.first_steps": 3,
    "training.world_model.steps_per_epoch": 2,
    "training.world_model.batch_size": 4,
    "training.actor_critic.steps_per_epoch": 2,
    "training.actor_critic.batch_size": 4,
    "training.evaluation_episodes": 2,
}


class TestConformance(AgentConformance):
    manifest = IRIS
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES
