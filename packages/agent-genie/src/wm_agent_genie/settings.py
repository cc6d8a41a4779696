"""A configuration from a preset, values set by dotted name, and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wm_agent_genie.config import GenieConfig
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget
from wm_torchkit.settings import with_values


def with_overrides(config: GenieConfig, overrides: Mapping[str, Any]) -> GenieConfig:
    """`config` with values by dotted name, e.g. `training.policy.batch_size`, validated.

    `UsageError` for an unknown name (with the nearest ones) or a value that is not allowed.
    """
    return with_values(config, overrides, "genie")


def within_budget(config: GenieConfig, budget: TrainBudget) -> GenieConfig:
    """`config` for so many epochs, and with so many environment steps at most to collect video with."""
    changes: dict[str, Any] = {}
    if budget.epochs is not None:
        changes["training.epochs"] = budget.epochs
    if budget.steps is not None:
        changes |= _collection(config, budget.steps)
    return with_overrides(config, changes)


def _collection(config: GenieConfig, steps: int) -> dict[str, int]:
    """Steps of both collections, in the configuration's proportion, `steps` together at most."""
    training = config.training
    wanted = {
        name: getattr(training, f"{name}_steps") for name in ("video", "expert") if getattr(training, name) is None
    }
    if not wanted:
        raise UsageError("no environment steps are taken where datasets are given; limit the training with --epochs")
    if steps < len(wanted):
        raise UsageError(f"{steps} environment steps are too few to collect {' and '.join(wanted)} with")
    share = min(1.0, steps / sum(wanted.values()))
    return {f"training.{name}_steps": max(1, int(share * count)) for name, count in wanted.items()}
