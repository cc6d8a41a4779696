"""Images: how environments lay them out, and how networks take them; the same for training and acting."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_core.errors import UsageError


class FrameLayout:
    """Turns a space's images, `(H, W)`, `(H, W, C)` or `(C, H, W)` with C of 1 or 3, into `(H, W, C)`.

    Where a shape can be read both ways, channels are taken to be last, as Gymnasium has it.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        if not isinstance(space, gymnasium.spaces.Box) or space.dtype != np.uint8 or len(space.shape) not in (2, 3):
            raise UsageError(f"observations of {space}; expected uint8 images (H, W), (H, W, C) or (C, H, W)")
        shape = space.shape
        self._grey = len(shape) == 2
        self._channels_first = not self._grey and shape[2] not in (1, 3)
        if self._channels_first and shape[0] not in (1, 3):
            raise UsageError(f"images of shape {shape}; expected 1 or 3 channels, first or last")
        self._given = shape
        self.shape: tuple[int, int, int] = self.to_hwc(np.zeros(shape, np.uint8)).shape

    def to_hwc(self, observation: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """uint8 `(H, W, C)`, a view where it can be."""
        if observation.shape != self._given or observation.dtype != np.uint8:
            raise UsageError(
                f"an observation of {observation.dtype} {observation.shape}; its space promises uint8 {self._given}"
            )
        if self._grey:
            return observation[..., None]
        return np.moveaxis(observation, 0, -1) if self._channels_first else observation


def to_network(frames: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """uint8 `(..., H, W, C)` in 0..255 to float32 `(..., C, H, W)` in [low, high]."""
    if frames.dtype != torch.uint8:
        raise UsageError(f"frames of {frames.dtype}; expected uint8, before any scaling")
    images = frames.movedim(-1, -3).to(torch.float32, memory_format=torch.contiguous_format).div_(255)
    return images if (low, high) == (0.0, 1.0) else images.mul_(high - low).add_(low)


def to_uint8(images: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Float `(..., C, H, W)` in [low, high], clipped to it, to the nearest uint8 `(..., H, W, C)`."""
    scaled = (images.detach().float() - low) * (255 / (high - low))
    return scaled.round().clamp(0, 255).to(torch.uint8).movedim(-3, -1)
