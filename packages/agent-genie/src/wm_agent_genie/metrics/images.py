"""How like two pictures are."""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics.functional.image import structural_similarity_index_measure

PSNR_LIMIT = 100.0
"""dB. Equal pictures have no finite PSNR; they count as this."""


def psnr(predicted: Tensor, target: Tensor) -> Tensor:
    """Peak signal-to-noise ratio in dB of pictures (..., C, H, W) in [0, 1], one each (...).

    Average these: the PSNR of a batch's pooled error is another, lower number. The limit is `PSNR_LIMIT`.
    """
    _same_shape(predicted, target)
    error = (predicted.float() - target.float()).square().flatten(-3).mean(-1)
    return -10 * torch.log10(error.clamp(min=10 ** (-PSNR_LIMIT / 10)))


def ssim(predicted: Tensor, target: Tensor) -> Tensor:
    """Structural similarity of pictures (..., C, H, W) in [0, 1], one each (...), at most 1.

    Wang et al. (2004): Gaussian windows of 11x11 with deviation 1.5, so a picture has at least 6x6 pixels.
    """
    _same_shape(predicted, target)
    if min(predicted.shape[-2:]) < 6:
        raise ValueError(f"SSIM needs pictures of at least 6x6 pixels, not {tuple(predicted.shape[-2:])}")
    found = structural_similarity_index_measure(
        predicted.float().flatten(0, -4), target.float().flatten(0, -4), data_range=1.0, reduction="none"
    )
    assert isinstance(found, Tensor)
    return found.reshape(predicted.shape[:-3])


def _same_shape(predicted: Tensor, target: Tensor) -> None:
    if predicted.shape != target.shape or predicted.dim() < 4:
        raise ValueError(
            f"pictures must be (..., C, H, W) of one shape, not {tuple(predicted.shape)} and {tuple(target.shape)}"
        )
