"""Pictures of a training: what the tokenizer keeps of real frames, and what the agent dreams after them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.replay import IRISReplayBuffer
from wm_torchkit.frames import to_uint8
from wm_torchkit.video import frame_grid, write_gif, write_png

_FRAMES = 8
_DREAMS = 4
_SIDE = 64
"""Pixels a frame is shown at, at least."""


def save_pictures(directory: Path, epoch: int, agent: IRISAgent, replay: IRISReplayBuffer) -> None:
    """Write `epoch-000010-reconstructions.png` and `-dreams.gif`; no later sample of the replay is changed."""
    with replay.undisturbed():
        real, _ = replay.frames(_FRAMES, 1)
        starts, _ = replay.frames(_DREAMS, 1)
    scale = max(1, _SIDE // agent.config.tokenizer.image_size)
    reconstructed = agent.tokenizer.reconstruct(real[:, 0])
    rows = np.stack([_hwc(real[:, 0] / 255), _hwc(reconstructed)])
    write_png(directory / f"epoch-{epoch:06d}-reconstructions.png", frame_grid(rows, scale))

    generator = torch.Generator(agent.device).manual_seed(epoch)
    horizon = agent.config.imagination.horizon
    dream = agent.imagine_rollout(starts[:, 0], horizon=horizon, generator=generator)
    frames = _hwc(dream.frames)
    film = [frame_grid(frames[None, :, t], scale) for t in range(horizon)]
    write_gif(directory / f"epoch-{epoch:06d}-dreams.gif", np.stack(film), fps=5)
    write_png(directory / f"epoch-{epoch:06d}-dreams.png", frame_grid(frames, scale))


def _hwc(frames: Tensor) -> NDArray[np.uint8]:
    return to_uint8(frames).cpu().numpy()
