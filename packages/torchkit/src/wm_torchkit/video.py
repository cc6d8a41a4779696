"""Frames to files that people look at: PNG grids, GIF, MP4."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wm_core.errors import UsageError


def frame_grid(frames: NDArray[np.uint8], scale: int = 1, gap: int = 1) -> NDArray[np.uint8]:
    """Frames `(rows, columns, H, W, C)` as one RGB image: pixels `scale` wide, black gaps between."""
    if frames.ndim != 5:
        raise UsageError(f"frames of shape {frames.shape}; a grid takes (rows, columns, H, W, C)")
    rgb = _rgb(frames).repeat(scale, axis=2).repeat(scale, axis=3)
    padded = np.pad(rgb, ((0, 0), (0, 0), (0, gap), (0, gap), (0, 0)))
    rows, columns, height, width, _ = padded.shape
    image = padded.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, 3)
    return image[: image.shape[0] - gap, : image.shape[1] - gap]


def write_png(path: Path, image: NDArray[np.uint8]) -> None:
    """An image `(H, W, C)` as PNG."""
    if image.ndim != 3:
        raise UsageError(f"an image of shape {image.shape}; expected (H, W, C)")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(_rgb(image)).save(path, format="PNG")


def write_gif(path: Path, frames: NDArray[np.uint8], fps: float = 15) -> None:
    """Frames `(T, H, W, C)` as an endlessly looping GIF. GIF counts in 1/100 s, so `fps` is met to that."""
    _require_movie(frames)
    path.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = [Image.fromarray(frame) for frame in _rgb(frames)]
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)


def write_mp4(path: Path, frames: NDArray[np.uint8], fps: int = 15) -> None:
    """Frames `(T, H, W, C)` as H.264. Odd sides grow by one pixel, as the format wants."""
    _require_movie(frames)
    try:
        import av
    except ImportError as error:
        raise UsageError("MP4 needs PyAV: pip install 'wm-torchkit[video]', or write a GIF") from error
    height, width = frames.shape[1:3]
    even = np.pad(_rgb(frames), ((0, 0), (0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.height, stream.width, stream.pix_fmt = even.shape[1], even.shape[2], "yuv420p"
        for frame in even:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        container.mux(stream.encode())


def _require_movie(frames: NDArray[np.uint8]) -> None:
    if frames.ndim != 4 or len(frames) == 0:
        raise UsageError(f"frames of shape {frames.shape}; a film takes (T, H, W, C) with T of 1 or more")


def _rgb(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if images.dtype != np.uint8 or images.shape[-1] not in (1, 3):
        raise UsageError(f"images of {images.dtype} {images.shape}; expected uint8 with 1 or 3 channels last")
    return images if images.shape[-1] == 3 else images.repeat(3, axis=-1)
