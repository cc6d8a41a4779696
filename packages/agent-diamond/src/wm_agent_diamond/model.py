"""The networks alone, for `wm_core.create_model("diamond", action_size=4)`."""

from __future__ import annotations

import torch

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config import DiamondConfig
from wm_agent_diamond.presets import preset


def create_model(
    action_size: int,
    device: str | torch.device = "cpu",
    *,
    config: DiamondConfig | str = "paper",
    seed: int = 0,
) -> DiamondAgent:
    """A fresh agent for `action_size` actions, of a configuration or of a preset's name, in evaluation mode."""
    chosen = preset(config) if isinstance(config, str) else config
    return DiamondAgent.from_config(chosen, action_size=action_size, device=device, seed=seed)
