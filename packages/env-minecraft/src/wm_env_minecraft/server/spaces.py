"""Spaces of any gym as plain data, and plain data as actions of such spaces. Told by name: gyms differ in class."""

from __future__ import annotations

from typing import Any

import numpy as np


def described(space: Any) -> dict[str, Any]:
    """A space as JSON. MineRL's and MineDojo's own subclasses are described as what they are in gym."""
    kind = _kind(space)
    if kind == "Dict":
        return {"kind": kind, "spaces": {str(key): described(inner) for key, inner in space.spaces.items()}}
    if kind == "Tuple":
        return {"kind": kind, "spaces": [described(inner) for inner in space.spaces]}
    if kind == "Enum":
        return {"kind": kind, "values": [str(value) for value in space.values]}
    if kind == "Discrete":
        return {"kind": kind, "n": int(space.n)}
    if kind == "MultiDiscrete":
        return {"kind": kind, "nvec": np.asarray(space.nvec).tolist()}
    if kind == "Box":
        low, high = np.min(space.low), np.max(space.high)
        return {
            "kind": kind,
            "dtype": np.dtype(space.dtype).str,
            "shape": list(space.shape),
            "low": low.item() if np.isfinite(low) else None,
            "high": high.item() if np.isfinite(high) else None,
        }
    return {"kind": kind, "shape": list(getattr(space, "shape", None) or ())}


def as_action(value: Any, space: Any) -> Any:
    """An action as the space wants it: arrays for boxes, integers for discrete ones, names for enumerations."""
    kind = _kind(space)
    if kind == "Dict":
        return {key: as_action(value[key], inner) for key, inner in space.spaces.items()}
    if kind == "Box":
        return np.asarray(value, dtype=space.dtype).reshape(space.shape)
    if kind == "MultiDiscrete":
        return np.asarray(value, dtype=np.int64)
    return value


def _kind(space: Any) -> str:
    names = [cls.__name__ for cls in type(space).__mro__]
    known = ("Enum", "Dict", "Tuple", "Box", "MultiDiscrete", "MultiBinary", "Discrete")
    return next((name for name in names if name in known), names[0])
