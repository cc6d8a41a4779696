"""Observations of image environments as Genie takes them, and the actions it can choose among."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wm_core.envs.images import resize
from wm_core.errors import UsageError
from wm_torchkit.frames import FrameLayout


class GivenFrames:
    """Turns observations, uint8 `(H, W)`, `(H, W, C)` or `(C, H, W)`, into `(H, W, C)` as they are."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self._layout = FrameLayout(space)

    def __call__(self, observation: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """One observation to a frame."""
        return self._layout.to_hwc(np.asarray(observation))


class ObservationFrames(GivenFrames):
    """The same, resized by area to `size` (height, width) and with `channels`: grey is repeated."""

    def __init__(self, space: gymnasium.Space[Any], size: tuple[int, int], channels: int) -> None:
        super().__init__(space)
        given = self._layout.shape[2]
        if given not in (1, channels):
            raise UsageError(f"observations of {given} channels; this agent was made for {channels}")
        self._size, self._shape = size, (*size, channels)

    def __call__(self, observation: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """One observation to a frame, uint8 (height, width, channels)."""
        return fitted(super().__call__(observation), self._size, self._shape[2])


def fitted(frame: NDArray[np.uint8], size: tuple[int, int], channels: int) -> NDArray[np.uint8]:
    """A frame uint8 (H, W, C) resized by area to `size`, grey repeated where more `channels` are wanted."""
    if frame.shape[:2] != size:
        plain = np.ascontiguousarray(frame[:, :, 0] if frame.shape[2] == 1 else frame)
        frame = resize(plain, size, "cv2-area").reshape(*size, -1)
    return np.broadcast_to(frame, (*size, channels)) if frame.shape[2] != channels else frame


def discrete_actions(space: gymnasium.Space[Any]) -> tuple[int, int]:
    """How many actions there are, and the first one's number; `UsageError` where actions are not discrete."""
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise UsageError(f"Genie maps latent actions to discrete ones, and those here are {space}; discretise them")
    return int(space.n), int(space.start)
