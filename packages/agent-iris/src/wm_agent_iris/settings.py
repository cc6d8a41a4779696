"""A configuration from a preset, values set by dotted name, and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wm_agent_iris.config import IRISConfig
from wm_core.specs import TrainBudget
from wm_torchkit.settings import with_values


def with_overrides(config: IRISConfig, overrides: Mapping[str, Any]) -> IRISConfig:
    """`config` with values by dotted name, e.g. `training.world_model.batch_size`, validated.

    `UsageError` for an unknown name (with the nearest ones) or a value that is not allowed.
    """
    return with_values(config, overrides, "iris")


def within_budget(config: IRISConfig, budget: TrainBudget) -> IRISConfig:
    """`config` for so many epochs, or until so many environment steps are taken, whichever is earlier."""
    changes: dict[str, Any] = {}
    if budget.epochs is not None:
        changes["training.epochs"] = budget.epochs
    if budget.steps is not None:
        changes["training.max_env_steps"] = budget.steps
    return with_overrides(config, changes)
