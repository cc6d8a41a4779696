"""What the encoder of latent actions may be kept from seeing, so that an action cannot name a place. Not in the paper.

Predicting the next frame well does not make a latent action a move: "the paddle's new column" and "its new distance
from the ball" predict as well, and neither is anything that a player does. Both are hidden where the encoder sees a
clip at another place and with a part missing, while the decoder sees it as it is.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def hide_places(clips: Tensor, rng: np.random.Generator) -> Tensor:
    """Clips (B, T, C, H, W), each rolled sideways by a distance of its own, with a band of its rows made dark.

    Distances are uniform over the width, heights of bands over 0 to 3/4 H, and so are their places.
    """
    height, width = clips.shape[-2:]
    shown = torch.empty_like(clips)
    for clip, to in zip(clips, shown, strict=True):
        distance, rows = int(rng.integers(width)), int(rng.integers(height * 3 // 4 + 1))
        top = int(rng.integers(height - rows + 1))
        to.copy_(clip.roll(distance, dims=-1))
        to[..., top : top + rows, :] = 0
    return shown
