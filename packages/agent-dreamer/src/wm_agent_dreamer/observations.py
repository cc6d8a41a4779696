"""Observations of any environment as the networks see them: one path for acting, collecting and training.

An observation is stored as a uint8 frame `(H, W, C)`, a float32 vector `(D,)`, or both, and `to_networks` makes of
what is stored what the networks get. There is no other way in.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.spaces.utils import flatdim, flatten
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_dreamer.layouts import MIN_IMAGE_SIZE, Observation, ObservationLayout
from wm_core.errors import UsageError
from wm_torchkit.frames import to_network

_LOG = logging.getLogger(__name__)
_LARGE = 128
"""Pixels beyond which a user is told what an image of that side costs."""


class Stored(NamedTuple):
    """One observation as a replay keeps it."""

    frame: NDArray[np.uint8] | None
    """`(H, W, C)`."""
    vector: NDArray[np.float32] | None
    """`(D,)`."""


class Observations:
    """Turns observations of `space` into what is stored.

    Images are uint8, `(H, W)`, `(H, W, C)` or `(C, H, W)` of 16x16 pixels or more, or a stack of such frames on a
    further leading axis, whose frames become channels. Where a shape can be read both ways, channels are last.
    Anything else that Gymnasium flattens becomes part of the vector: floats as they are, bounded whole numbers scaled
    to [0, 1], discrete ones as one-hots. Of a `Dict`, images of one size become channels of one image, and all else one
    vector, both in the order of its keys.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        parts = list(space.spaces.items()) if isinstance(space, gymnasium.spaces.Dict) else [(None, space)]
        self._images = [(key, _Image(part)) for key, part in parts if isinstance(part, Box) and _is_image(part)]
        self._vectors = [(key, _Vector(part)) for key, part in parts if not _is_image(part)]
        sizes = {image.size for _, image in self._images}
        if len(sizes) > 1:
            listed = ", ".join(
                f"{key}: {height}x{width}"
                for key, (height, width) in ((key, image.size) for key, image in self._images)
            )
            raise UsageError(f"images of several sizes ({listed}) in one observation; resize them to one size")
        frame = None
        if self._images:
            ((height, width),) = sizes
            frame = (height, width, sum(image.channels for _, image in self._images))
            if max(height, width) > _LARGE:
                _LOG.warning(
                    "images of %dx%d pixels make Dreamer slow and its replay large; 64x64 is what was published "
                    "(--env image_size=64)",
                    height,
                    width,
                )
        self.frame_shape: tuple[int, int, int] | None = frame
        self.vector_dim: int | None = sum(vector.size for _, vector in self._vectors) or None
        self.layout = ObservationLayout(
            image=None if frame is None else (frame[2], frame[0], frame[1]), vector=self.vector_dim
        )

    def store(self, observation: Any) -> Stored:
        """One observation; never a view of the environment's memory."""
        frames = [image(_part(observation, key)) for key, image in self._images]
        vectors = [vector(_part(observation, key)) for key, vector in self._vectors]
        return Stored(
            np.ascontiguousarray(np.concatenate(frames, -1)) if frames else None,
            np.concatenate(vectors).astype(np.float32) if self.vector_dim else None,
        )

    def batch(self, observations: Sequence[Any], device: torch.device | str = "cpu") -> Observation:
        """What the networks get of several observations, shapes `(n, ...)`."""
        stored = [self.store(each) for each in observations]
        frames = [each.frame for each in stored if each.frame is not None]
        vectors = [each.vector for each in stored if each.vector is not None]
        return to_networks(
            torch.from_numpy(np.stack(frames)) if frames else None,
            torch.from_numpy(np.stack(vectors)) if vectors else None,
            device,
        )


def to_networks(frames: Tensor | None, vectors: Tensor | None, device: torch.device | str = "cpu") -> Observation:
    """What was stored, uint8 `(..., H, W, C)` and float32 `(..., D)`, as the networks get it."""
    return Observation(
        image=None if frames is None else to_network(frames.to(device)),
        vector=None if vectors is None else vectors.to(device),
    )


class _Image:
    """An image, or a stack of them, as `(H, W, C)`."""

    def __init__(self, space: Box) -> None:
        self._shape = space.shape
        self._channels_first = len(space.shape) > 2 and _channels_first(space.shape)
        height, width, self.channels = self(np.zeros(space.shape, np.uint8)).shape
        self.size = (height, width)

    def __call__(self, observation: Any) -> NDArray[np.uint8]:
        image = np.asarray(observation)
        if image.shape != self._shape or image.dtype != np.uint8:
            raise UsageError(f"an observation of {image.dtype} {image.shape}; its space promises uint8 {self._shape}")
        if image.ndim == 2:
            return image[..., None]
        if self._channels_first:
            image = np.moveaxis(image, -3, -1)
        if image.ndim == 4:
            image = np.moveaxis(image, 0, -2).reshape(*image.shape[1:3], -1)
        return image


class _Vector:
    """Anything that Gymnasium flattens."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        if not space.is_np_flattenable:
            raise UsageError(
                f"observations of {space} have no fixed size; wrap the environment so that they are images, "
                "vectors, or a Dict of both"
            )
        if isinstance(space, Box) and len(space.shape) > 2 and np.issubdtype(space.dtype, np.floating):
            height, width = sorted(space.shape[-3:])[-2:]
            if min(height, width) >= MIN_IMAGE_SIZE:
                raise UsageError(
                    f"images of {space.dtype}, {space}; Dreamer takes uint8 images, so scale them to 0..255"
                )
        self._space = space
        self.size = flatdim(space)
        self._low: Any = 0.0
        self._width: Any = 1.0
        if isinstance(space, Box) and np.issubdtype(space.dtype, np.integer):
            low, high = space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
            if (high - low < 2**31).all():
                self._low, self._width = low, np.maximum(high - low, 1.0)

    def __call__(self, observation: Any) -> NDArray[np.float64]:
        flat = np.asarray(flatten(self._space, observation), np.float64)
        return np.asarray((flat - self._low) / self._width, np.float64)


def _is_image(space: gymnasium.Space[Any]) -> bool:
    if not isinstance(space, Box) or space.dtype != np.uint8 or len(space.shape) not in (2, 3, 4):
        return False
    if len(space.shape) == 2:
        height, width = space.shape
    else:
        height, width = space.shape[-2:] if _channels_first(space.shape) else space.shape[-3:-1]
    return min(height, width) >= MIN_IMAGE_SIZE


def _channels_first(shape: tuple[int, ...]) -> bool:
    """Whether the third axis from the end is the channels'."""
    return shape[-3] < shape[-1]


def _part(observation: Any, key: str | None) -> Any:
    return observation if key is None else observation[key]
