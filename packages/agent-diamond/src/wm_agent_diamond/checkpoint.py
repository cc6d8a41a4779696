"""Checkpoints of DIAMOND in wmbench's own format: what the header says, and what it must say to be read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from torch import Tensor

from wm_agent_diamond.config import DiamondConfig
from wm_core.errors import CheckpointError
from wm_torchkit.checkpoint import CheckpointHeader, library_versions, read_checkpoint

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
    values = dict(described.config)
    action_size = values.pop(_ACTION_SIZE, None)
    if not isinstance(action_size, int) or action_size < 1:
        raise CheckpointError(f"{path} does not say how many actions its agent has; it is damaged, train anew")
    try:
        return DiamondConfig.model_validate(values), action_size
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        written = described.libraries.get("wm-agent-diamond", "unknown")
        raise CheckpointError(
            f"{path} has a configuration that this version does not read: {name}: {first['msg']}; use the "
            f"wm-agent-diamond it was written with ({written})"
        ) from error
