"""The networks alone, for `wm_core.create_model("genie", action_size=4)`."""

from __future__ import annotations

import torch

from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.config import GenieConfig
from wm_agent_genie.presets import preset


def create_model(
    action_size: int,
    device: str | torch.device = "cpu",
    *,
    config: GenieConfig | str = "coinrun",
    seed: int = 0,
) -> ActingGenie:
    """A fresh agent for `action_size` real actions, of a configuration or of a preset's name, in evaluation mode."""
    chosen = preset(config) if isinstance(config, str) else config
    return ActingGenie.from_config(chosen, real_actions=action_size, device=device, seed=seed)
