"""Observations of any image environment as the networks take them: RGB, square, of their size."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_core.envs.images import resize
from wm_core.errors import UsageError
from wm_torchkit.frames import FrameLayout


class ObservationFrames:
    """Turns observations, uint8 `(H, W)`, `(H, W, C)` or `(C, H, W)` with C of 1 or 3, into RGB `(S, S, 3)`.

    Grey is repeated; other sizes are resized by area.
    """

    def __init__(self, space: gymnasium.Space[Any], image_size: int) -> None:
        self._layout = FrameLayout(space)
        self._size = (image_size, image_size)
        self.shape = (image_size, image_size, 3)

    def __call__(self, observation: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """One observation to a frame, uint8 `(S, S, 3)`, never a view that is later written to."""
        frame = self._layout.to_hwc(np.asarray(observation))
        if frame.shape[:2] != self._size:
            plain = np.ascontiguousarray(frame[:, :, 0] if frame.shape[2] == 1 else frame)
            frame = resize(plain, self._size, "cv2-area").reshape(*self._size, -1)
        return np.broadcast_to(frame, self.shape) if frame.shape[2] == 1 else frame


def to_channels_first(frames: NDArray[np.uint8] | Tensor, device: torch.device | str = "cpu") -> Tensor:
    """uint8 `(..., S, S, 3)` to uint8 `(..., 3, S, S)` on a device."""
    tensor = frames if isinstance(frames, Tensor) else torch.from_numpy(np.ascontiguousarray(frames))
    return tensor.to(device).movedim(-1, -3)


def discrete_actions(space: gymnasium.Space[Any]) -> tuple[int, int]:
    """How many actions there are, and the first one's number; `UsageError` where actions are not discrete."""
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise UsageError(f"DIAMOND chooses among discrete actions, and those here are {space}; discretise them first")
    return int(space.n), int(space.start)
