"""The latent action model: what was done between two frames, from pixels alone. Section 2.1, Appendix C.1.

The encoder reads frame t+1 and all before it and names one of |A| latent actions for the step; the decoder must tell
frame t+1 from frames 0..t and the latent actions of steps 0..t. Only the code tells the decoder anything of frame
t+1, so it comes to stand for what the past does not tell.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.config import LatentActionConfig
from wm_agent_genie.patches import Patches
from wm_agent_genie.quantizer import Quantizer
from wm_agent_genie.st_transformer import STTransformer


class LatentActionModel(nn.Module):
    """Frames (B, T, C, H, W) in [0, 1] to latent actions int64 (B, T-1).

    The paper does not say how an action is read off a frame's tokens. Here a learned token joins those of each frame,
    and its output at frame t+1 is the action of step t. So that few codes are spent on what was done, and not on when,
    the encoder is shown each frame with its change from the one before, or (`encoder_sees`) that change alone, and is
    not told its place in the clip.
    """

    def __init__(
        self,
        config: LatentActionConfig,
        *,
        image_size: tuple[int, int],
        channels: int,
        frames: int,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.patches = Patches(image_size, channels, config.patch_size)
        encoder, decoder, code_dim = config.encoder, config.decoder, config.quantizer.code_dim
        self._with_frames = config.encoder_sees == "frames"
        self.encoder_embedding = nn.Linear((1 + self._with_frames) * self.patches.dim, encoder.embedding_dim)
        self.action_token = nn.Parameter(0.02 * torch.randn(encoder.embedding_dim))
        self.encoder = STTransformer(
            encoder, tokens=self.patches.count + 1, frames=frames, recompute=recompute, timed=False
        )
        self.to_code = nn.Linear(encoder.embedding_dim, code_dim)
        self.quantizer = Quantizer(config.quantizer)
        self.from_code = nn.Linear(code_dim, decoder.embedding_dim)
        self.decoder_embedding = nn.Linear(self.patches.dim, decoder.embedding_dim)
        self.decoder = STTransformer(decoder, tokens=self.patches.count, frames=frames - 1, recompute=recompute)
        self.to_pixels = nn.Linear(decoder.embedding_dim, self.patches.dim)

    @torch.no_grad()
    def infer(self, frames: Tensor) -> Tensor:
        """The latent actions (B, T-1) between frames."""
        return self.quantizer.nearest(self._features(frames))

    def embed(self, codes: Tensor) -> Tensor:
        """Latent actions (...) to the vectors (..., code_dim) that the dynamics model is given, without gradient."""
        return self.quantizer.embed(codes).detach()

    @torch.no_grad()
    def predict(self, frames: Tensor, codes: Tensor) -> Tensor:
        """Frames 1..T (B, T, C, H, W), each from the past and its action: of frames 0..T-1 and T codes (B, T)."""
        return self._decode(frames, self.quantizer.embed(codes))

    def loss(
        self, frames: Tensor, generator: torch.Generator | None = None, *, seen: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Squared error of frames 1..T-1 plus the codebook's, a scalar with gradient, and its parts.

        The encoder is shown `seen` in place of `frames`, where given: the same clips, changed in what actions must not
        depend on.
        In training mode an EMA codebook moves here; `generator` draws new seeds for its dead codes.
        """
        quantized = self.quantizer(self._features(frames if seen is None else seen), generator)
        predicted = self._decode(frames[:, :-1], quantized.straight_through)
        prediction = F.mse_loss(predicted, frames[:, 1:])
        return prediction + quantized.loss, {"prediction": prediction.detach(), **quantized.metrics}

    def _features(self, frames: Tensor) -> Tensor:
        if frames.shape[1] < 2:
            raise ValueError(f"an action lies between two frames; {frames.shape[1]} were given")
        patches = self.patches.split(frames)
        change = torch.cat([torch.zeros_like(patches[:, :1]), patches[:, 1:] - patches[:, :-1]], dim=1)
        embedded = self.encoder_embedding(torch.cat([patches, change], dim=-1) if self._with_frames else change)
        action = self.action_token.expand(*embedded.shape[:2], 1, -1)
        read = self.encoder(torch.cat([action.to(embedded.dtype), embedded], dim=2))[:, 1:, 0]
        features: Tensor = self.to_code(read)
        return features

    def _decode(self, frames: Tensor, actions: Tensor) -> Tensor:
        """Frames (B, S, C, H, W) and the action vectors (B, S, code_dim) after each; the frames that follow."""
        embedded = self.decoder_embedding(self.patches.split(frames)) + self.from_code(actions).unsqueeze(2)
        return self.patches.join(torch.sigmoid(self.to_pixels(self.decoder(embedded)).float()))
