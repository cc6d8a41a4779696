"""Read tensors from a file that came from outside, without executing anything in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from wm_core.errors import CheckpointError
from wm_torchkit.checkpoint import read_tensors as read_safetensors
from wm_torchkit.weights import read_torch_weights


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a `.safetensors` file or of a PyTorch state dict, on the CPU.

    `CheckpointError` when the file is missing, is no such file, or holds more than tensors by name.
    """
    path = path.expanduser()
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    tensors = read_torch_weights(path)
    for name, value in tensors.items():
        if not isinstance(value, Tensor):
            raise CheckpointError(f"{path} is no flat state dict: its entry {name!r} is a {type(value).__name__}")
    return tensors


def listed(items: Iterable[str], most: int = 4) -> str:
    """The first few of `items` and how many more there are, for a message."""
    names = list(items)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
