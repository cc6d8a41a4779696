"""What can be set, and the paper's values as defaults (Bruce et al., 2024, arXiv:2402.15391, Sections 2 and 3).

Every model is frozen and refuses unknown fields. The defaults are the paper's full model on 160x90 video; where the
paper leaves something open, the field says so.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from wm_agent_genie.config_training import TrainingConfig
from wm_core.specs import Spec


class STTransformerConfig(Spec):
    """A spatiotemporal transformer. Section 2, Figure 4."""

    layers: PositiveInt = Field(description="Blocks; each has spatial attention, temporal attention, one feed-forward")
    embedding_dim: PositiveInt = Field(description="d")
    heads: PositiveInt
    head_dim: PositiveInt | None = Field(None, description="Of queries, keys and values; None: embedding_dim / heads")
    qk_norm: bool = Field(False, description="Normalise queries and keys; the paper does in the dynamics model")

    @property
    def attention_dim(self) -> int:
        """Dimension of the queries of all heads together."""
        return self.heads * (self.head_dim or self.embedding_dim // self.heads)

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.head_dim is None and self.embedding_dim % self.heads:
            raise ValueError(
                f"embedding_dim={self.embedding_dim} is no multiple of heads={self.heads}; give head_dim, or change one"
            )
        return self


class QuantizerConfig(Spec):
    """A codebook. Van den Oord et al. (2017)."""

    codes: int = Field(ge=2, description="Size of the codebook")
    code_dim: PositiveInt = Field(32, description="Dimension of a code")
    codebook: Literal["gradient", "ema"] = Field(
        "ema", description="How the codes learn; the paper says only 'VQ-VAE objective'"
    )
    ema_decay: float = Field(0.99, gt=0, lt=1, description="Of code sizes and sums, with codebook 'ema'")
    dead_code_threshold: NonNegativeFloat = Field(
        0.03, description="With 'ema': a code whose averaged share of its fair number of uses falls below is re-seeded"
    )
    commitment_weight: NonNegativeFloat = Field(0.25, description="beta")
    batch_norm: bool = Field(
        True,
        description="Normalise vectors over the batch first, so that they cannot shrink to one point (Lancucki et al. "
        "2020); not in the paper",
    )


class TokenizerConfig(Spec):
    """The video tokenizer, an ST-ViViT VQ-VAE. Section 2.1, Appendix C.2."""

    patch_size: PositiveInt = Field(4, description="Height and width of the patch behind a token, in pixels")
    encoder: STTransformerConfig = STTransformerConfig(layers=12, embedding_dim=512, heads=8)
    decoder: STTransformerConfig = STTransformerConfig(layers=20, embedding_dim=1024, heads=16)
    quantizer: QuantizerConfig = QuantizerConfig(codes=1024)


class LatentActionConfig(Spec):
    """The latent action model (LAM), from pixels. Section 2.1, Appendix C.1."""

    patch_size: PositiveInt = 16
    encoder: STTransformerConfig = STTransformerConfig(layers=20, embedding_dim=1024, heads=16)
    decoder: STTransformerConfig = STTransformerConfig(layers=20, embedding_dim=1024, heads=16)
    quantizer: QuantizerConfig = QuantizerConfig(codes=8)
    encoder_sees: Literal["frames", "changes"] = Field(
        "frames", description="'changes': how each frame differs from the one before, and no more; not in the paper"
    )

    @property
    def actions(self) -> int:
        """|A|, the number of latent actions."""
        return self.quantizer.codes


class DynamicsConfig(Spec):
    """The MaskGIT dynamics model, and how frames are drawn from it. Section 2.1, Appendix C.3."""

    transformer: STTransformerConfig = STTransformerConfig(
        layers=48, embedding_dim=5120, heads=36, head_dim=128, qk_norm=True
    )
    mask_rate_min: float = Field(0.5, ge=0, lt=1, description="In training, tokens are masked at a rate of U(this, 1)")
    steps: PositiveInt = Field(25, description="MaskGIT steps a frame")
    temperature: NonNegativeFloat = Field(2.0, description="Of sampled tokens; 0: the likeliest")
    choice_temperature: NonNegativeFloat = Field(
        4.5,
        description="Of the choice which tokens to keep, at the first step; falls to 0 at the last. MaskGIT's value: "
        "the paper names none",
    )


class PolicyConfig(Spec):
    """The policy cloned on latent actions. Section 3.3, Appendix E."""

    patch_size: PositiveInt = 4
    transformer: STTransformerConfig = STTransformerConfig(layers=12, embedding_dim=512, heads=8)
    hidden_dim: PositiveInt = Field(512, description="Of the layer between the transformer and the logits")
    context: PositiveInt = Field(4, description="Frames it sees, the newest included")
    temperature: NonNegativeFloat = Field(1.0, description="Of the latent actions it samples; 0: the likeliest")


class ComputeConfig(Spec):
    """How it is computed. Changes speed and memory, not the method."""

    precision: Literal["float32", "bfloat16"] = Field("float32", description="Of products; weights stay float32")
    gradient_checkpointing: bool = Field(False, description="Recompute activations: less memory, about 1.3x time")


class GenieConfig(Spec):
    """Genie, whole. The default is the paper's full model."""

    image_size: tuple[PositiveInt, PositiveInt] = Field((90, 160), description="Height and width of frames, in pixels")
    channels: PositiveInt = Field(3, description="Of frames")
    clip_frames: int = Field(16, ge=2, description="T: frames in a training clip, and that any model looks back on")
    tokenizer: TokenizerConfig = TokenizerConfig()
    latent_actions: LatentActionConfig = LatentActionConfig()
    dynamics: DynamicsConfig = DynamicsConfig()
    policy: PolicyConfig = PolicyConfig()
    training: TrainingConfig = TrainingConfig()
    compute: ComputeConfig = ComputeConfig()

    @model_validator(mode="after")
    def _frames_suffice(self) -> Self:
        if self.policy.context > self.clip_frames:
            raise ValueError(f"policy.context={self.policy.context} is more than {self.clip_frames=}; lower it")
        if self.tokens_per_frame < 2:
            raise ValueError(
                f"image_size={self.image_size} is one token of tokenizer.patch_size={self.tokenizer.patch_size}; "
                "use smaller patches"
            )
        return self

    def grid(self, patch_size: int) -> tuple[int, int]:
        """Rows and columns of patches of that size that cover a frame; the last of each may be padded."""
        height, width = self.image_size
        return -(-height // patch_size), -(-width // patch_size)

    @property
    def tokens_per_frame(self) -> int:
        """N, of the tokenizer."""
        rows, columns = self.grid(self.tokenizer.patch_size)
        return rows * columns
