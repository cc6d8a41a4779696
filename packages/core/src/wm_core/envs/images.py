"""Resizing of 8-bit images with the filters that published agents used."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wm_core.specs import ResizeFilter

Frame = NDArray[np.uint8]
"""An image, `(H, W, 3)` RGB or `(H, W)` gray."""


def resize(frame: Frame, size: tuple[int, int] | None, filter_: ResizeFilter) -> Frame:
    """`frame` at `size = (height, width)` in pixels; itself where it has that size already or `size` is None.

    `nearest` takes, for output row y, input row `floor(y * H_in / H_out)`, and columns likewise.
    """
    if size is None or frame.shape[:2] == size:
        return frame
    height, width = size
    if filter_ == "nearest":
        rows = np.arange(height) * frame.shape[0] // height
        columns = np.arange(width) * frame.shape[1] // width
        nearest: Frame = frame[rows[:, None], columns]
        return nearest
    if filter_ == "pil-bilinear":
        return np.array(Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR))
    interpolation = cv2.INTER_AREA if filter_ == "cv2-area" else cv2.INTER_LINEAR
    return cv2.resize(frame, (width, height), interpolation=interpolation)  # type: ignore[return-value]


def to_gray(frame: Frame) -> Frame:
    """Luma of an RGB image, `(H, W)`: 0.299 R + 0.587 G + 0.114 B, as OpenCV rounds it."""
    return cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)  # type: ignore[return-value]
