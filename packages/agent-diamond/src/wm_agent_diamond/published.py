"""Read the checkpoints published with the paper (`<Game>.pt`): shapes checked, nothing executed.

Their tensors have the names of this package's, 372 of them, among them the random Fourier frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from wm_core.errors import CheckpointError
from wm_torchkit.checkpoint import read_tensors
from wm_torchkit.weights import read_torch_weights

ACTIONS = "actor_critic.actor_linear.bias"
"""Its length is the number of actions."""
COMPONENTS = ("denoiser.", "rew_end_model.", "actor_critic.")


class PublishedWeights(NamedTuple):
    """A published checkpoint."""

    action_size: int
    weights: dict[str, Tensor]


def load(path: Path) -> PublishedWeights:
    """Read a published checkpoint; `CheckpointError` says what is missing or does not belong."""
    path = path.expanduser()
    return check(read_tensors(path) if path.suffix == ".safetensors" else read_torch_weights(path), path)


def check(tensors: Mapping[str, object], origin: Path | str) -> PublishedWeights:
    """The weights, float32, and the number of actions; names and shapes are compared as they are loaded."""
    weights: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise CheckpointError(f"{origin} is no flat state dict: its entry {name!r} is a {kind}, not a tensor")
        weights[name] = value.float()
    if not any(name.startswith(COMPONENTS) for name in weights):
        first = ", ".join(list(weights)[:3]) or "nothing"
        raise CheckpointError(
            f"{origin} is no published DIAMOND checkpoint: it holds {first}, where names that begin with "
            f"{', '.join(COMPONENTS)} were expected"
        )
    if ACTIONS not in weights or weights[ACTIONS].dim() != 1:
        raise CheckpointError(
            f"{origin} does not say how many actions its agent has: it lacks the vector {ACTIONS}; download it again"
        )
    return PublishedWeights(len(weights[ACTIONS]), weights)
