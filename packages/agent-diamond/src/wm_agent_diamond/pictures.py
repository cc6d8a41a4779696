"""Pictures of a training: what the model says comes next, and what the agent dreams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.replay import DiamondReplayBuffer
from wm_torchkit.frames import to_uint8
from wm_torchkit.video import frame_grid, write_gif, write_mp4, write_png

_PREDICTIONS = 8
_DREAMS = 4
_SIDE = 64
"""Pixels a frame is shown at, at least."""
_FPS = 5


def save_pictures(
    directory: Path, epoch: int, agent: DiamondAgent, replay: DiamondReplayBuffer, *, mp4: bool = False
) -> None:
    """Write `epoch-000010-predictions.png`, `-dreams.png` and `-dreams.gif` (or `.mp4`).

    Predictions: in each column a real frame, the real next one, and what the model says it is. Dreams: in each row a
    dream of the agent with its own actions. No later sample of the replay is changed.
    """
    length = agent.config.denoiser.context_frames
    with replay.undisturbed():
        real = replay.segments(_PREDICTIONS, length + 1, final_frames=True)
        starts = replay.segments(_DREAMS, length)
    generator = torch.Generator(agent.device).manual_seed(epoch)
    scale = max(1, _SIDE // agent.config.denoiser.image_size)
    before, context = real.obs[:, :length], real.actions[:, :length]
    said = agent.dream(before, context, context[:, -1:], 1, generator=generator).frames[:, 0].cpu().numpy()
    rows = np.stack([_hwc(real.obs[:, length - 1]), _hwc(real.obs[:, length]), said])
    write_png(directory / f"epoch-{epoch:06d}-predictions.png", frame_grid(rows, scale))

    horizon = agent.config.imagination.horizon
    dream = agent.dream(starts.obs, starts.actions, None, horizon, generator=generator).frames.cpu().numpy()
    frames = np.concatenate([_hwc(starts.obs[:, -1:]), dream], axis=1)
    film = np.stack([frame_grid(frames[None, :, t], scale) for t in range(horizon + 1)])
    if mp4:
        write_mp4(directory / f"epoch-{epoch:06d}-dreams.mp4", film, fps=_FPS)
    else:
        write_gif(directory / f"epoch-{epoch:06d}-dreams.gif", film, fps=_FPS)
    write_png(directory / f"epoch-{epoch:06d}-dreams.png", frame_grid(frames, scale))


def _hwc(images: Tensor) -> NDArray[np.uint8]:
    return to_uint8(images, -1.0, 1.0).cpu().numpy()
