"""The networks alone, for `wm_core.create_model("dreamerv3", action_size=4)`."""

from __future__ import annotations

import torch

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_agent_dreamer.presets import preset

_IMAGE = (3, 64, 64)


def create_v1(
    action_size: int, device: str | torch.device = "cpu", *, config: DreamerConfig | str = "dmc", **options: object
) -> DreamerAgent:
    """A fresh DreamerV1; see `create_model`."""
    return create_model("dreamerv1", action_size, device, config=config, **options)  # type: ignore[arg-type]


def create_v2(
    action_size: int, device: str | torch.device = "cpu", *, config: DreamerConfig | str = "atari", **options: object
) -> DreamerAgent:
    """A fresh DreamerV2; see `create_model`."""
    return create_model("dreamerv2", action_size, device, config=config, **options)  # type: ignore[arg-type]


def create_v3(
    action_size: int, device: str | torch.device = "cpu", *, config: DreamerConfig | str = "size12m", **options: object
) -> DreamerAgent:
    """A fresh DreamerV3; see `create_model`."""
    return create_model("dreamerv3", action_size, device, config=config, **options)  # type: ignore[arg-type]


def create_model(
    agent: str,
    action_size: int,
    device: str | torch.device = "cpu",
    *,
    config: DreamerConfig | str,
    image: tuple[int, int, int] | None = _IMAGE,
    vector: int | None = None,
    continuous: bool = False,
    seed: int = 0,
) -> DreamerAgent:
    """A fresh agent in evaluation mode, of a configuration or of a preset's name.

    It chooses among `action_size` actions, or, `continuous`, acts by so many numbers in [-1, 1]. It sees images
    (C, H, W), vectors of a length, or both.
    """
    chosen = preset(agent, config) if isinstance(config, str) else config
    return DreamerAgent.from_config(
        chosen,
        observation=ObservationLayout(image=image, vector=vector),
        action=ActionLayout(kind="continuous" if continuous else "discrete", size=action_size),
        device=device,
        seed=seed,
    )
