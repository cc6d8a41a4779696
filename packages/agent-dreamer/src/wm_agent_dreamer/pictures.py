"""Pictures of a training: what the agent imagines of a stretch of real experience, beside what happened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.layouts import StreamBatch
from wm_torchkit.frames import to_uint8
from wm_torchkit.video import frame_grid, write_gif, write_png

_EXAMPLES = 4
_SIDE = 64
"""Pixels a frame is shown at, at least."""
_CONTEXT = 5
"""Records that the model sees before it imagines, as in the papers' figures; half of shorter sequences."""


@torch.no_grad()
def open_loop(agent: DreamerAgent, batch: StreamBatch, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Truth and the model's account of it, both (B, T, C, H, W) in [0, 1].

    The account reconstructs the first `context_length` frames, and imagines the others from the real actions alone.
    Where another episode begins among them, the model does not know of it.
    """
    truth = batch.observation.image
    if truth is None:
        raise ValueError("an agent that sees no images has no pictures to show")
    steps = truth.shape[1]
    context = context_length(steps)
    model = agent.world_model
    seen = model.observe(batch, generator).state[:, :context]
    with agent.precision():
        reconstructed = model.decoder.observation(model.decoder(seen.features)).image
    dream = agent.imagine(
        seen[:, -1], steps - context, actions=batch.action[:, context:], generator=generator
    ).observation.image
    assert reconstructed is not None
    assert dream is not None
    return truth, torch.cat([reconstructed, dream], 1)


def context_length(steps: int) -> int:
    """How many of `steps` records are seen before the imagination is on its own; at least 1, at most all but 1."""
    return min(_CONTEXT, max(1, steps // 2))


def save_pictures(
    directory: Path, name: str, agent: DreamerAgent, batch: StreamBatch, generator: torch.Generator
) -> None:
    """Write `NAME-open-loop.png` and `.gif`: truth, the model's account, and their difference (gray: none)."""
    truth, model = open_loop(agent, batch, generator)
    error = (model.clamp(0, 1) - truth + 1) / 2
    rows = [_shown(each[:_EXAMPLES]) for each in (truth, model, error)]
    side = min(truth.shape[-2:])
    scale = max(1, _SIDE // side)
    columns = np.stack([row[i] for i in range(len(rows[0])) for row in rows])
    write_png(directory / f"{name}-open-loop.png", frame_grid(columns, scale))
    by_time = np.stack(rows)
    film = np.stack([frame_grid(by_time[:, :, t], scale) for t in range(by_time.shape[2])])
    write_gif(directory / f"{name}-open-loop.gif", film, fps=5)


def _shown(images: Tensor) -> NDArray[np.uint8]:
    """uint8 (B, T, H, W, 3 or 1); of more channels, which are frames stacked, the last one."""
    channels = images.shape[2]
    if channels not in (1, 3):
        images = images[:, :, -3:] if channels % 3 == 0 else images[:, :, -1:]
    return to_uint8(images).cpu().numpy()
