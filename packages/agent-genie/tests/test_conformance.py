"""The contract of wm-core, with a training of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from wm_agent_genie.plugin import GENIE
from wm_core.testing import AgentConformance

_PARTS = ("tokenizer", "latent_actions", "dynamics", "policy")

FEW_UPDATES: dict[str, Any] = {
    **{f"training.{part}.steps_per_epoch": 1 for part in _PARTS},
    **{f"training.{part}.batch_size": 2 for part in _PARTS},
    "training.labels": 20,
    "training.evaluation_clips": 2,
}


class TestConformance(AgentConformance):
    manifest = GENIE
    train_overrides: ClassVar[dict[str, Any]] = FEW_UPDATES
