"""The networks alone, for `wm_core.create_model("iris", action_size=4)`."""

from __future__ import annotations

import torch

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import IRISConfig
from wm_agent_iris.presets import preset


def create_model(
    action_size: int,
    device: str | torch.device = "cpu",
    *,
    config: IRISConfig | str = "paper",
    seed: int = 0,
) -> IRISAgent:
    """A fresh agent for `action_size` actions, of a configuration or of a preset's name, in evaluation mode."""
    chosen = preset(config) if isinstance(config, str) else config
    return IRISAgent.from_config(chosen, action_size=action_size, device=device, seed=seed)
