"""The tokenizer: frames to K tokens of a vocabulary of N, and back. Section 2.1."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_iris.config import ComputeConfig, TokenizerConfig
from wm_agent_iris.layout import memory_format
from wm_agent_iris.tokenizer.decoder import build_decoder
from wm_agent_iris.tokenizer.encoder import build_encoder
from wm_agent_iris.tokenizer.quantizer import EMAQuantizer, Quantizer


class IRISTokenizer(nn.Module):
    """Encoder E, codebook, decoder D. Frames are (..., 3, S, S), uint8 or float in [0, 1]."""

    def __init__(self, config: TokenizerConfig, compute: ComputeConfig | None = None) -> None:
        super().__init__()
        compute = compute or ComputeConfig()
        recompute = compute.gradient_checkpointing
        self.config = config
        self.memory_format = memory_format(compute)
        d = config.embedding_dim
        self.encoder = build_encoder(config, recompute)
        self.pre_quant = nn.Conv2d(self.encoder.out_channels, d, 1)
        self.quantizer = (
            EMAQuantizer(config.vocabulary_size, d, config.ema_decay, config.dead_code_threshold)
            if config.codebook == "ema"
            else Quantizer(config.vocabulary_size, d)
        )
        self.decoder = build_decoder(config, recompute)
        self.post_quant = nn.Conv2d(d, self.decoder.in_channels, 1)
        self.to(memory_format=self.memory_format)  # type: ignore[call-overload]

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Tensor:
        """Frames (..., 3, S, S) to tokens, int64 (..., K), row by row from the top left."""
        chunks = torch.split(frames.reshape(-1, *frames.shape[-3:]), self._frames_at_once())
        features = (self.encoder_features(self.preprocess(chunk)) for chunk in chunks)
        tokens = torch.cat([self.quantizer.nearest(self.as_vectors(f)) for f in features])
        return tokens.reshape(*frames.shape[:-3], self.config.tokens_per_frame)

    @torch.no_grad()
    def decode(self, tokens: Tensor) -> Tensor:
        """Tokens (..., K) to frames, float32 (..., 3, S, S), clamped to [0, 1]."""
        chunks = torch.split(tokens.reshape(-1, tokens.shape[-1]), self._frames_at_once())
        codes = (F.embedding(chunk.reshape(-1), self.quantizer.codebook) for chunk in chunks)
        y = torch.cat([self.decoder_output(self.as_map(c)).float() for c in codes])
        frames = y.add_(1).mul_(0.5).clamp_(0, 1)
        return frames.reshape(*tokens.shape[:-1], *frames.shape[1:])

    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the policy sees of frames (..., 3, S, S): the frames encoded and decoded, in [0, 1]."""
        return self.decode(self.encode(frames))

    def preprocess(self, frames: Tensor) -> Tensor:
        """Frames (B, 3, S, S), uint8 or float in [0, 1], to float32 in [-1, 1]."""
        size = self.config.image_size
        if frames.shape[-3:] != (3, size, size):
            raise ValueError(f"frames must be (..., 3, {size}, {size}), not {tuple(frames.shape)}")
        if frames.dtype == torch.uint8:
            frames = frames.float() / 255
        elif not frames.is_floating_point():
            raise TypeError(f"frames must be uint8 in 0..255 or float in [0, 1], not {frames.dtype}")
        return (frames * 2 - 1).contiguous(memory_format=self.memory_format)

    def encoder_features(self, x: Tensor) -> Tensor:
        """(B, 3, S, S) in [-1, 1] to the features to be quantized, (B, d, G, G)."""
        return cast(Tensor, self.pre_quant(self.encoder(x)))

    def decoder_output(self, codes: Tensor) -> Tensor:
        """Codes (B, d, G, G) to frames (B, 3, S, S), about [-1, 1] and not clamped."""
        return cast(Tensor, self.decoder(self.post_quant(codes)))

    def as_vectors(self, features: Tensor) -> Tensor:
        """(B, d, G, G) to (B K, d)."""
        return features.permute(0, 2, 3, 1).reshape(-1, features.shape[1])

    def as_map(self, vectors: Tensor) -> Tensor:
        """(B K, d) to (B, d, G, G)."""
        size = self.config.grid_size
        codes = vectors.reshape(-1, size, size, vectors.shape[1]).permute(0, 3, 1, 2)
        return codes.contiguous(memory_format=self.memory_format)

    def _frames_at_once(self) -> int:
        """Without gradient, few enough that a CPU's cache, or a small GPU's memory, holds the activations."""
        return 8 if self.quantizer.codebook.device.type == "cpu" else 256
