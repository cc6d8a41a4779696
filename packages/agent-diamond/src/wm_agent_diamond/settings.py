"""A configuration from a preset, values set by dotted name, and a budget."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from wm_agent_diamond.config import DiamondConfig
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget


def with_overrides(config: DiamondConfig, overrides: Mapping[str, Any]) -> DiamondConfig:
    """`config` with values by dotted name, e.g. `training.denoiser.batch_size`, validated.

    `UsageError` for an unknown name (with the nearest ones) or a value that is not allowed.
    """
    known = list(_names(config))
    values = config.model_dump()
    for name, value in overrides.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or [n for n in known if n.endswith(f".{name}")]
            hint = f"did you mean {', '.join(near)}?" if near else f"names are like {known[0]}"
            raise UsageError(f"diamond has no setting '{name}'; {hint}")
        *groups, last = name.split(".")
        place = values
        for group in groups:
            place = place[group]
        place[last] = value
    try:
        return DiamondConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or ", ".join(overrides)
        raise UsageError(f"the setting {name} is not allowed: {first['msg'].removeprefix('Value error, ')}") from error


def within_budget(config: DiamondConfig, budget: TrainBudget) -> DiamondConfig:
    """`config` for so many epochs, or until so many environment steps are taken, whichever is earlier."""
    changes: dict[str, Any] = {}
    if budget.epochs is not None:
        changes["training.max_epochs"] = budget.epochs
    if budget.steps is not None:
        changes["training.collection.max_env_steps"] = budget.steps
    return with_overrides(config, changes)


def _names(model: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _names(value, f"{prefix}{name}.")
        else:
            yield prefix + name
