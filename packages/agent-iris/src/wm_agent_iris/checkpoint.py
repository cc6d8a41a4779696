"""Checkpoints of IRIS in wmbench's own format: what the header says, and what it must say to be read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from wm_agent_iris.config import IRISConfig
from wm_torchkit.checkpoint import CheckpointHeader, library_versions, read_checkpoint, stored_configuration

AGENT = "iris"
FORMAT = "wm-agent-iris/1"
"""Names the layout of the weights and of the configuration."""
_ACTION_SIZE = "action_size"


class SavedAgent(NamedTuple):
    """What a checkpoint holds."""

    config: IRISConfig
    action_size: int
    weights: dict[str, Tensor]


def header(config: IRISConfig, action_size: int) -> CheckpointHeader:
    """What a checkpoint of such an agent says of itself."""
    return CheckpointHeader(
        agent=AGENT,
        agent_format=FORMAT,
        config={**config.model_dump(mode="json"), _ACTION_SIZE: action_size},
        libraries=library_versions("wm-agent-iris"),
    )


def read(path: Path) -> SavedAgent:
    """Read a checkpoint; `CheckpointError` when it is missing, cut, of another agent or another format."""
    described, weights = read_checkpoint(path, AGENT, FORMAT)
    config, action_size = configuration(described, path)
    return SavedAgent(config, action_size, weights)


def configuration(described: CheckpointHeader, path: Path) -> tuple[IRISConfig, int]:
    """The configuration and the number of actions that a header tells of."""
    return stored_configuration(described, path, IRISConfig, _ACTION_SIZE, "wm-agent-iris")
