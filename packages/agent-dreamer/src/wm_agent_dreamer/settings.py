"""A configuration from a preset, values set by dotted name, and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wm_agent_dreamer.config import DreamerConfig
from wm_core.specs import TrainBudget
from wm_torchkit.settings import with_values

MAY_CHANGE = frozenset(
    f"training.{name}"
    for name in (
        *("env_steps", "replay_capacity", "checkpoint_every"),
        *("evaluate_every", "evaluation_episodes", "pictures_every", "tensorboard"),
    )
)
"""What another value of does not make it another training."""


def with_overrides(config: DreamerConfig, overrides: Mapping[str, Any], agent: str = "dreamer") -> DreamerConfig:
    """`config` with values by dotted name, e.g. `actor.grad` or `training.batch_size`, validated.

    `UsageError` for an unknown name (with the nearest ones) or a value that is not allowed.
    """
    return with_values(config, overrides, agent)


def within_budget(config: DreamerConfig, budget: TrainBudget) -> DreamerConfig:
    """`config` for so many epochs, or so many environment steps, whichever is less; None leaves it as it is."""
    limits = []
    if budget.epochs is not None:
        limits.append(budget.epochs * config.training.env_steps_per_epoch)
    if budget.steps is not None:
        limits.append(budget.steps)
    return with_overrides(config, {"training.env_steps": min(limits)}) if limits else config
