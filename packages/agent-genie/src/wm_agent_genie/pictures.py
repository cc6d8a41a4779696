"""Pictures of a training: held-out video, what the tokenizer keeps of it, and dreams of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.data.reader import VideoDataset
from wm_torchkit.frames import to_uint8
from wm_torchkit.video import frame_grid, write_gif, write_png

_CLIPS = 3
_SIDE = 64
"""Pixels a frame is shown at, at least."""


@torch.no_grad()
def save_pictures(directory: Path, epoch: int, agent: GenieAgent, video: VideoDataset) -> None:
    """Write `epoch-000010-dreams.png` and `.gif`.

    For each of three clips a row of true frames, one of the tokenizer's, one of a dream from the first frame with
    the clip's latent actions; and last, from the first clip's first frame, a dream of each latent action repeated.
    """
    clips = agent.tensor(video.windows(agent.config.clip_frames, _CLIPS).frames)
    codes = agent.latent_action_model.infer(clips)
    reconstructed = agent.tokenizer.decode(agent.tokenizer.encode(clips))
    dreamt = _dream(agent, clips[:, :1], codes)
    rows = [clips, reconstructed, dreamt]
    table = torch.stack(rows, dim=1).flatten(0, 1)
    each = torch.arange(agent.config.latent_actions.actions).unsqueeze(1).expand(-1, clips.shape[1] - 1)
    first = clips[:1, :1].expand(len(each), -1, -1, -1, -1)
    frames = to_uint8(torch.cat([table, _dream(agent, first, each)])).cpu().numpy()
    scale = max(1, _SIDE // max(agent.config.image_size))
    write_png(directory / f"epoch-{epoch:06d}-dreams.png", frame_grid(frames, scale))
    film = [frame_grid(frames[None, :, t], scale) for t in range(frames.shape[1])]
    write_gif(directory / f"epoch-{epoch:06d}-dreams.gif", np.stack(film), fps=5)


def _dream(agent: GenieAgent, prompt: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """The prompt's one frame and those that follow it, (B, T, C, H, W)."""
    dream = agent.dream_batch(prompt, generator=torch.Generator(agent.device).manual_seed(0))
    return torch.cat([prompt, *(dream.step(codes[:, t]).unsqueeze(1) for t in range(codes.shape[1]))], dim=1)
