"""Checkpoints of DIAMOND in wmbench's own format: what the header says, and what it must say to be read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from wm_agent_diamond.config import DiamondConfig
from wm_torchkit.checkpoint import CheckpointHeader, library_versions, read_checkpoint, stored_configuration

AGENT = "diamond"
FORMAT = "wm-agent-diamond/1"
"""Names the layout of the weights and of the configuration."""
_ACTION_SIZE = "action_size"


class SavedAgent(NamedTuple):
    """What a checkpoint holds."""

    config: DiamondConfig
    action_size: int
    weights: dict[str, Tensor]


def header(config: DiamondConfig, action_size: int) -> CheckpointHeader:
    """What a checkpoint of such an agent says of itself."""
    return CheckpointHeader(
        agent=AGENT,
        agent_format=FORMAT,
        config={**config.model_dump(mode="json"), _ACTION_SIZE: action_size},
        libraries=library_versions("wm-agent-diamond"),
    )


def read(path: Path) -> SavedAgent:
    """Read a checkpoint; `CheckpointError` when it is missing, cut, of another agent or another format."""
    described, weights = read_checkpoint(path, AGENT, FORMAT)
    config, action_size = configuration(described, path)
    return SavedAgent(config, action_size, weights)


def configuration(described: CheckpointHeader, path: Path) -> tuple[DiamondConfig, int]:
    """The configuration and the number of actions that a header tells of."""
    return stored_configuration(described, path, DiamondConfig, _ACTION_SIZE, "wm-agent-diamond")
