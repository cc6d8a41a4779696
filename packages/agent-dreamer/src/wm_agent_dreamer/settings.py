"""A configuration from a preset, values set by dotted name, and a budget."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from wm_agent_dreamer.config import DreamerConfig
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget

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
    known = list(_names(config))
    values = config.model_dump()
    for name, value in overrides.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or [n for n in known if n.endswith(f".{name}")]
            hint = f"did you mean {', '.join(near)}?" if near else f"names are like {known[0]}"
            raise UsageError(f"{agent} has no setting '{name}'; {hint}")
        *groups, last = name.split(".")
        place = values
        for group in groups:
            place = place[group]
        place[last] = value
    try:
        return DreamerConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or ", ".join(overrides)
        raise UsageError(f"the setting {name} is not allowed: {first['msg'].removeprefix('Value error, ')}") from error


def within_budget(config: DreamerConfig, budget: TrainBudget) -> DreamerConfig:
    """`config` for so many epochs, or so many environment steps, whichever is less; None leaves it as it is."""
    limits = []
    if budget.epochs is not None:
        limits.append(budget.epochs * config.training.env_steps_per_epoch)
    if budget.steps is not None:
        limits.append(budget.steps)
    return with_overrides(config, {"training.env_steps": min(limits)}) if limits else config


def _names(model: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _names(value, f"{prefix}{name}.")
        else:
            yield prefix + name
