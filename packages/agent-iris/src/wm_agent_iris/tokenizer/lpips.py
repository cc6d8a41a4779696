"""LPIPS, the perceptual part of the reconstruction loss. Zhang et al. (2018), with VGG16 features.

Both images go through VGG16; at five depths the features are normalised to unit length over channels, their
squared differences weighted per channel, averaged over space, and added up over depths.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_iris.tokenizer import lpips_weights
from wm_agent_iris.tokenizer.lpips_weights import POOL_BEFORE, TAPPED, LPIPSWeights

log = logging.getLogger(__name__)


class LPIPSPerceptualLoss(nn.Module):
    """LPIPS between images in [-1, 1]. Has no trainable parameter and stays outside an agent's weights.

    What `weights` lacks is replaced: VGG16 by random features of a fixed seed, the channel weights by uniform
    ones. `source` says what is used and `calibrated` whether all of it is LPIPS's own; both belong beside every
    number trained with it.
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, weights: LPIPSWeights) -> None:
        super().__init__()
        features = "VGG16" if weights.convolutions else "random features"
        channels = "calibrated" if weights.channel_weights else "uniform"
        self.source = f"{features}, {channels} channel weights, from {weights.origin}"
        self.calibrated = weights.convolutions is not None and weights.channel_weights is not None
        self.convolutions = nn.ModuleList()
        for weight, bias in weights.convolutions or lpips_weights.random_convolutions():
            layer = nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1, device="meta")
            layer.weight, layer.bias = nn.Parameter(weight.float()), nn.Parameter(bias.float())
            self.convolutions.append(layer)
        for depth, channel in enumerate(weights.channel_weights or lpips_weights.uniform_channel_weights()):
            self.register_buffer(f"channel_weights_{depth}", channel.float().reshape(1, -1, 1, 1))
        self.register_buffer("shift", torch.tensor([-0.030, -0.088, -0.188]).reshape(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor([0.458, 0.448, 0.450]).reshape(1, 3, 1, 1))
        self.requires_grad_(False)

    def forward(self, image: Tensor, target: Tensor) -> Tensor:
        """Mean distance, a scalar, of two batches (B, 3, H, W). The gradient reaches `image` alone."""
        with torch.no_grad():
            target_features = [_unit_length(f) for f in self.features(target)]
        distance = torch.zeros(len(image), device=image.device)
        for depth, (features, wanted) in enumerate(zip(self.features(image), target_features, strict=True)):
            difference = (_unit_length(features) - wanted).square()
            weighted = difference * self.get_buffer(f"channel_weights_{depth}")
            distance = distance + weighted.sum(1).mean((1, 2))
        return distance.mean()

    def features(self, image: Tensor) -> Iterator[Tensor]:
        """The five feature maps of images (B, 3, H, W) in [-1, 1], shallowest first."""
        h = (image - self.shift) / self.scale
        for i, convolution in enumerate(self.convolutions):
            if i in POOL_BEFORE:
                h = F.max_pool2d(h, 2)
            h = F.relu(convolution(h))
            if i in TAPPED:
                yield h


def build_perceptual_loss(
    weights: Path | Mapping[str, Tensor] | Literal["auto", "random"] = "auto",
) -> LPIPSPerceptualLoss:
    """LPIPS with the weights named; which ones it got is logged here, once, and stays in `source`.

    - A path, or tensors by name: LPIPS's own weights, those inside a published IRIS checkpoint, or a VGG16 state
      dict (then all channels weigh alike). A file with LPIPS's channel weights alone takes VGG16 from
      torchvision's cache.
    - "auto": VGG16 from torchvision's cache, all channels alike; where there is none, as "random".
    - "random": VGG16 with random features of a fixed seed, all channels alike. It then compares edges and
      colours at five scales, not what people see; results are not comparable with the paper's.

    `CheckpointError` when what is given has no such weights in it.
    """
    if weights == "auto":
        found = lpips_weights.from_torchvision_cache()
    elif weights == "random":
        found = LPIPSWeights(None, None, "no file")
    elif isinstance(weights, Mapping):
        found = lpips_weights.parse(weights, "the tensors given")
    else:
        found = lpips_weights.from_file(Path(weights))
    loss = LPIPSPerceptualLoss(found)
    log.log(logging.INFO if loss.calibrated else logging.WARNING, "perceptual loss: %s", loss.source)
    return loss


def _unit_length(features: Tensor) -> Tensor:
    features = features.float()
    # The clamp changes no value; it gives all-zero features a gradient of zero instead of NaN.
    length = features.square().sum(1, keepdim=True).clamp(min=1e-20).sqrt()
    return features / (length + 1e-10)
