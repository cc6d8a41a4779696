"""Weights into networks, saying what does not fit; and torch files of others, without executing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wm_core.errors import CheckpointError

_SHOWN = 3


def load_weights(module: nn.Module, tensors: Mapping[str, Tensor], source: Path | str) -> None:
    """Load every tensor of `tensors` into `module`, whose names and shapes must be the same.

    Raises `CheckpointError` with the first few names that are missing, unexpected, of another shape (both shapes
    given) or not finite, and how many there are; then nothing is loaded.
    """
    own = module.state_dict()
    other_shape = [
        f"{name} {list(tensors[name].shape)} in the file, {list(own[name].shape)} here"
        for name in own
        if name in tensors and tensors[name].shape != own[name].shape
    ]
    complaints = [
        _listed("missing", [name for name in own if name not in tensors]),
        _listed("unexpected", [name for name in tensors if name not in own]),
        _listed("of another shape", other_shape),
        _listed("NaN or infinite", [name for name, tensor in tensors.items() if not _is_finite(tensor)]),
    ]
    if any(complaints):
        raise CheckpointError(
            f"{source} does not fit this {type(module).__name__} of {len(own)} tensors: "
            f"{'; '.join(filter(None, complaints))}. Use the configuration it was trained with"
        )
    module.load_state_dict(tensors)


def read_torch_weights(path: Path) -> dict[str, Any]:
    """What a torch file (`.pt`) of others holds, by `torch.load(weights_only=True)`: tensors, plain values.

    Raises `CheckpointError` when it is missing, damaged, not a dictionary, or holds objects that would have
    to be executed.
    """
    if not path.is_file():
        raise CheckpointError(f"no weights file at {path}")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(
            f"{path} is not a file of plain tensors that torch can load ({type(error).__name__}); nothing in "
            "it was executed. Download it again, or save its state_dict() alone"
        ) from error
    if not isinstance(loaded, dict):
        raise CheckpointError(f"{path} holds a {type(loaded).__name__}; expected a dictionary of tensors by name")
    return loaded


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _listed(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} {what}: {', '.join(names[:_SHOWN])}{more}"
