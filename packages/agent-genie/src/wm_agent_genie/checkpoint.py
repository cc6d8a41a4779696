"""Checkpoints of Genie: what the header says, and what it must say to be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.config import GenieConfig
from wm_core.specs import EnvSpec
from wm_torchkit.checkpoint import CheckpointHeader, library_versions, read_checkpoint, stored_configuration
from wm_torchkit.weights import load_weights

AGENT = "genie"
FORMAT = "wm-agent-genie/1"
"""Names the layout of the weights and of the configuration."""
_REAL_ACTIONS = "real_actions"


def header(config: GenieConfig, real_actions: int, env: EnvSpec, notes: Mapping[str, str]) -> CheckpointHeader:
    """What a checkpoint of such an agent says of itself."""
    return CheckpointHeader(
        agent=AGENT,
        agent_format=FORMAT,
        config={**config.model_dump(mode="json"), _REAL_ACTIONS: real_actions},
        env=env.model_dump(mode="json"),
        libraries=library_versions("wm-agent-genie"),
        notes=dict(notes),
    )


def load(path: str | Path, device: str | torch.device = "cpu") -> tuple[ActingGenie, CheckpointHeader]:
    """The agent of a checkpoint, in evaluation mode; `CheckpointError` when it cannot be read whole."""
    path = Path(path)
    described, weights = read_checkpoint(path, AGENT, FORMAT)
    config, real_actions = configuration(described, path)
    acting = ActingGenie.from_config(config, real_actions=real_actions)
    load_weights(acting, weights, path)
    return acting.to(device), described


def configuration(described: CheckpointHeader, path: Path) -> tuple[GenieConfig, int]:
    """The configuration and the number of real actions that a header tells of."""
    return stored_configuration(described, path, GenieConfig, _REAL_ACTIONS, "wm-agent-genie")
