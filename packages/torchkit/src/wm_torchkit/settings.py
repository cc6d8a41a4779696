"""Values of a configuration, set by dotted name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from wm_core.errors import UsageError

Config = TypeVar("Config", bound=BaseModel)


def with_values(config: Config, values: Mapping[str, Any], owner: str) -> Config:
    """`config` with values by dotted name, e.g. `training.batch_size`, validated. `owner` is whose settings they are.

    `UsageError` for an unknown name (with the nearest ones) or a value that is not allowed.
    """
    known = list(_names(config))
    changed = config.model_dump()
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or [n for n in known if n.endswith(f".{name}")]
            hint = f"did you mean {', '.join(near)}?" if near else f"names are like {known[0]}"
            raise UsageError(f"{owner} has no setting '{name}'; {hint}")
        *groups, last = name.split(".")
        place = changed
        for group in groups:
            place = place[group]
        place[last] = value
    try:
        return type(config).model_validate(changed)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or ", ".join(values)
        raise UsageError(f"the setting {name} is not allowed: {first['msg'].removeprefix('Value error, ')}") from error


def _names(model: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _names(value, f"{prefix}{name}.")
        else:
            yield prefix + name
