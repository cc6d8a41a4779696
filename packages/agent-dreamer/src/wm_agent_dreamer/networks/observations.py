"""Observations to embeddings and back: images, vectors, or both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_dreamer.config import DecoderConfig, EncoderConfig, RSSMConfig
from wm_agent_dreamer.distributions.symlog_two_hot import symexp, symlog
from wm_agent_dreamer.layouts import Observation, ObservationLayout
from wm_agent_dreamer.networks.image_decoder import ImageDecoder
from wm_agent_dreamer.networks.image_encoder import ImageEncoder
from wm_agent_dreamer.networks.mlp import MLP


class ObservationEncoder(nn.Module):
    """Embeddings (..., size), the image's before the vector's."""

    def __init__(self, layout: ObservationLayout, config: EncoderConfig) -> None:
        super().__init__()
        self.symlog = config.symlog_vector
        self.image = None if layout.image is None else ImageEncoder(layout.image, config)
        self.vector = None
        if layout.vector is not None:
            self.vector = MLP(
                layout.vector,
                layers=config.vector_layers,
                units=config.vector_units,
                activation=config.vector_activation,
                norm=config.norm,
            )
        self.size = sum(part.size for part in (self.image, self.vector) if part is not None)

    def forward(self, observation: Observation) -> Tensor:
        """Observations (..., shape of each part) to (..., size)."""
        parts = []
        if self.image is not None:
            assert observation.image is not None
            leading = observation.image.shape[:-3]
            parts.append(self.image(observation.image.flatten(0, -4)).unflatten(0, leading))
        if self.vector is not None:
            assert observation.vector is not None
            parts.append(self.vector(symlog(observation.vector) if self.symlog else observation.vector))
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


@dataclass(frozen=True)
class Reconstruction:
    """Means of observations."""

    image: Tensor | None
    """(..., C, H, W), about in [0, 1]."""
    vector: Tensor | None
    """(..., D), in symlog space where the loss is."""


class ObservationDecoder(nn.Module):
    """Features (..., Z + D) to the means of observations."""

    def __init__(self, layout: ObservationLayout, rssm: RSSMConfig, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.image = None if layout.image is None else ImageDecoder(layout.image, rssm, config)
        self.vector = None
        if layout.vector is not None:
            self.vector = MLP(
                rssm.feature_size,
                layers=config.vector_layers,
                units=config.vector_units,
                activation=config.vector_activation,
                norm=config.norm,
                outputs=layout.vector,
            )

    def forward(self, features: Tensor) -> Reconstruction:
        """(..., F) to means with the same leading axes."""
        image = vector = None
        if self.image is not None:
            image = self.image(features.flatten(0, -2)).unflatten(0, features.shape[:-1])
        if self.vector is not None:
            vector = self.vector(features).float()
        return Reconstruction(image, vector)

    def losses(self, reconstruction: Reconstruction, observation: Observation) -> dict[str, Tensor]:
        """Negative log-likelihoods (...) by part, summed over pixels or dimensions, without constants."""
        losses = {}
        if reconstruction.image is not None:
            assert observation.image is not None
            squares = F.mse_loss(reconstruction.image, observation.image, reduction="none").flatten(-3).sum(-1)
            losses["image"] = 0.5 * squares if self.config.image_loss == "normal" else squares
        if reconstruction.vector is not None:
            assert observation.vector is not None
            squashed = self.config.vector_loss == "symlog_squared_error"
            target = symlog(observation.vector) if squashed else observation.vector
            squares = (reconstruction.vector - target).square().sum(-1)
            losses["vector"] = squares if squashed else 0.5 * squares
        return losses

    def observation(self, reconstruction: Reconstruction) -> Observation:
        """What the means look like: pixels cut to [0, 1], vectors out of symlog space."""
        image, vector = reconstruction.image, reconstruction.vector
        if vector is not None and self.config.vector_loss == "symlog_squared_error":
            vector = symexp(vector)
        return Observation(None if image is None else image.clamp(0, 1), vector)
