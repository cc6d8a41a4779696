"""Nested state (optimizers, generators, counters) as named tensors and JSON, and back, exactly. No pickle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wm_core.errors import CheckpointError


def split_state(state: Any) -> tuple[dict[str, Tensor], Any]:
    """Tensors by name, and the rest as JSON values.

    Takes None, booleans, integers, floats, strings, lists, tuples, mappings, tensors and numpy arrays; raises
    `TypeError` with the place of anything else.
    """
    tensors: dict[str, Tensor] = {}
    return tensors, _split(state, "state", tensors)


def join_state(tensors: Mapping[str, Tensor], tree: Any) -> Any:
    """What `split_state` was given. Raises `CheckpointError` when a tensor is missing."""
    if isinstance(tree, list):
        return [join_state(tensors, item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, value),) = tree.items()
    match kind:
        case "tensor" | "numpy":
            if value not in tensors:
                raise CheckpointError(f"the training state lacks its tensor '{value}'; the file was tampered with")
            return tensors[value] if kind == "tensor" else tensors[value].numpy()
        case "tuple":
            return tuple(join_state(tensors, item) for item in value)
        case "float":
            return float(value)
        case "map":
            return {_key(key): join_state(tensors, item) for key, item in value}
        case _:
            raise CheckpointError(f"the training state holds a '{kind}', which this version does not know")


def _split(value: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Tensor):
        return {"tensor": _add(tensors, place, value.detach().to("cpu", copy=True).contiguous())}
    if isinstance(value, np.ndarray):
        return {"numpy": _add(tensors, place, torch.from_numpy(value.copy()))}
    if isinstance(value, list):
        return [_split(item, f"{place}.{index}", tensors) for index, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [_split(item, f"{place}.{index}", tensors) for index, item in enumerate(value)]}
    if isinstance(value, Mapping):
        items = [[_plain_key(key, place), _split(item, f"{place}.{key}", tensors)] for key, item in value.items()]
        return {"map": items}
    raise TypeError(f"cannot save a {type(value).__name__} at {place}; give plain values, tensors or arrays")


def _add(tensors: dict[str, Tensor], name: str, tensor: Tensor) -> str:
    while name in tensors:
        name += "'"
    tensors[name] = tensor
    return name


def _plain_key(key: Any, place: str) -> Any:
    if isinstance(key, tuple):
        return {"tuple": [_plain_key(part, place) for part in key]}
    if key is None or isinstance(key, bool | int | str):
        return key
    raise TypeError(f"cannot save a key of type {type(key).__name__} at {place}")


def _key(key: Any) -> Any:
    return tuple(_key(part) for part in key["tuple"]) if isinstance(key, dict) else key
