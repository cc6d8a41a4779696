"""Checkpoints of the Dreamers: what the header says, and what it must say to be read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from pydantic import ValidationError

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_core.errors import CheckpointError
from wm_torchkit.checkpoint import CheckpointHeader, library_versions, read_checkpoint, read_header
from wm_torchkit.weights import load_weights

FORMAT = "wm-agent-dreamer/1"
"""Names the layout of the weights and of the configuration."""


class Described(NamedTuple):
    """What a header tells of its agent."""

    config: DreamerConfig
    observation: ObservationLayout
    action: ActionLayout


def header(agent: str, config: DreamerConfig, observation: ObservationLayout, action: ActionLayout) -> CheckpointHeader:
    """What a checkpoint of such an agent says of itself."""
    return CheckpointHeader(
        agent=agent,
        agent_format=FORMAT,
        config={
            **config.model_dump(mode="json"),
            "observation": observation.model_dump(mode="json"),
            "action": action.model_dump(mode="json"),
        },
        libraries=library_versions("wm-agent-dreamer"),
    )


def load(path: Path, agent: str | None = None, device: torch.device | str = "cpu") -> DreamerAgent:
    """The networks of a checkpoint, in evaluation mode, of `agent` or, where it is None, of any Dreamer.

    `CheckpointError` when it is missing, cut, of another agent or another format, or does not fit.
    """
    name = agent or read_header(path).agent
    if not name.startswith("dreamer"):
        raise CheckpointError(f"{path} is a checkpoint of '{name}', not of a Dreamer; use --agent {name}")
    found, weights = read_checkpoint(path, name, FORMAT)
    about = described(found, path)
    networks = DreamerAgent.from_config(about.config, observation=about.observation, action=about.action, device=device)
    load_weights(networks, weights, path)
    return networks.eval()


def described(found: CheckpointHeader, path: Path) -> Described:
    """The configuration and the layouts that a header tells of."""
    values = dict(found.config)
    try:
        observation = ObservationLayout.model_validate(values.pop("observation", None))
        action = ActionLayout.model_validate(values.pop("action", None))
        return Described(DreamerConfig.model_validate(values), observation, action)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "its layouts"
        written = found.libraries.get("wm-agent-dreamer", "unknown")
        raise CheckpointError(
            f"{path} has a configuration that this version does not read: {name}: {first['msg']}; use the "
            f"wm-agent-dreamer it was written with ({written})"
        ) from error
