"""Frames to square patches and back."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


class Patches:
    """The grid of patches over frames of one size, row by row.

    Frames whose height or width is no multiple of the patch are padded with zeros below and at the right.
    """

    def __init__(self, image_size: tuple[int, int], channels: int, patch_size: int) -> None:
        self.height, self.width = image_size
        self.channels = channels
        self.size = patch_size
        self.rows, self.columns = -(-self.height // patch_size), -(-self.width // patch_size)
        self.count = self.rows * self.columns
        """N, patches a frame."""
        self.dim = channels * patch_size**2
        """Numbers in a patch."""

    def split(self, frames: Tensor) -> Tensor:
        """Frames (B, T, C, H, W) to patches (B, T, N, dim)."""
        if frames.dim() != 5 or tuple(frames.shape[2:]) != (self.channels, self.height, self.width):
            raise ValueError(
                f"frames must be (B, T, {self.channels}, {self.height}, {self.width}), not {tuple(frames.shape)}"
            )
        b, t, p = frames.shape[0], frames.shape[1], self.size
        padded = F.pad(frames, (0, self.columns * p - self.width, 0, self.rows * p - self.height))
        cut = padded.reshape(b, t, self.channels, self.rows, p, self.columns, p)
        return cut.permute(0, 1, 3, 5, 2, 4, 6).reshape(b, t, self.count, self.dim)

    def join(self, patches: Tensor) -> Tensor:
        """Patches (B, T, N, dim) to frames (B, T, C, H, W), the padding cut off."""
        b, t, p = patches.shape[0], patches.shape[1], self.size
        cut = patches.reshape(b, t, self.rows, self.columns, self.channels, p, p).permute(0, 1, 4, 2, 5, 3, 6)
        whole = cut.reshape(b, t, self.channels, self.rows * p, self.columns * p)
        return whole[..., : self.height, : self.width]
