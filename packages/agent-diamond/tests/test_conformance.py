"""The contract of wm-core, with the checkpoint that is shipped and with a training of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from wm_agent_diamond.plugin import DIAMOND
from wm_core.testing import AgentConformance

FEW_UPDATES: dict[str, Any] = {
    "training.collection.initial_steps": 40,
    "training.collection.max_initial_steps": 40,
    "training.collection.steps_per_epoch": 30,
    "training.evaluation_episodes": 2,
    "training.final_evaluation_episodes": 2,
    "training.pictures_every": None,
    **{
        f"training.{component}.{name}": value
        for component in ("denoiser", "rew_end_model", "actor_critic")
        for name, value in {"first_steps": 2, "steps_per_epoch": 1, "batch_size": 4}.items()
    },
}


class TestConformance(AgentConformance):
    manifest = DIAMOND
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES
