"""The video tokenizer: an ST-ViViT VQ-VAE, causal in time. Section 2.1, Appendix C.2."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.cache import TemporalCache
from wm_agent_genie.config import TokenizerConfig
from wm_agent_genie.patches import Patches
from wm_agent_genie.quantizer import Quantizer
from wm_agent_genie.st_transformer import STTransformer


class VideoTokenizer(nn.Module):
    """Frames (B, T, C, H, W) in [0, 1] to tokens int64 (B, T, N) and back; those of frame t depend on frames 0..t."""

    def __init__(
        self,
        config: TokenizerConfig,
        *,
        image_size: tuple[int, int],
        channels: int,
        frames: int,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.patches = Patches(image_size, channels, config.patch_size)
        self.tokens_per_frame = self.patches.count
        encoder, decoder, code_dim = config.encoder, config.decoder, config.quantizer.code_dim
        self.patch_embedding = nn.Linear(self.patches.dim, encoder.embedding_dim)
        self.encoder = STTransformer(encoder, tokens=self.patches.count, frames=frames, recompute=recompute)
        self.to_code = nn.Linear(encoder.embedding_dim, code_dim)
        self.quantizer = Quantizer(config.quantizer)
        self.from_code = nn.Linear(code_dim, decoder.embedding_dim)
        self.decoder = STTransformer(decoder, tokens=self.patches.count, frames=frames, recompute=recompute)
        self.to_pixels = nn.Linear(decoder.embedding_dim, self.patches.dim)

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Tensor:
        """Frames to tokens."""
        return self.quantizer.nearest(self._features(frames))

    @torch.no_grad()
    def decode(self, tokens: Tensor) -> Tensor:
        """Tokens to frames."""
        return self._pixels(self.decoder(self.from_code(self.quantizer.embed(tokens))))

    @torch.no_grad()
    def decode_next(self, tokens: Tensor, cache: TemporalCache) -> Tensor:
        """What `decode` gives for S more frames of tokens (B, S, N) behind those in the decoder's cache."""
        features = self.decoder.extend(self.from_code(self.quantizer.embed(tokens)), cache, remember=True)
        return self._pixels(features)

    def loss(self, frames: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        """The VQ-VAE objective, a scalar with gradient, and its parts.

        `reconstruction` is the mean squared error in [0, 1] space. In training mode an EMA codebook moves here, with
        `generator`, on the device of the model, for its re-seeding.
        """
        quantized = self.quantizer(self._features(frames), generator)
        decoded = self._pixels(self.decoder(self.from_code(quantized.straight_through)))
        reconstruction = F.mse_loss(decoded, frames)
        return reconstruction + quantized.loss, {"reconstruction": reconstruction.detach(), **quantized.metrics}

    def _features(self, frames: Tensor) -> Tensor:
        embedded = self.patch_embedding(self.patches.split(frames))
        features: Tensor = self.to_code(self.encoder(embedded))
        return features

    def _pixels(self, features: Tensor) -> Tensor:
        return self.patches.join(torch.sigmoid(self.to_pixels(features).float()))
