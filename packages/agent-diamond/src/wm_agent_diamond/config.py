"""What can be set, and the paper's values as defaults (Alonso et al., NeurIPS 2024, arXiv:2405.12399, appendices).

Every model is frozen and refuses unknown fields. Where the paper leaves something open, the default is what the
published checkpoints were trained with.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from wm_agent_diamond.config_training import TrainingConfig
from wm_core.specs import Spec


class NoiseConfig(Spec):
    """Noise levels in training: ln(sigma) ~ N(mean, std^2), clipped; and noise shared by an image's pixels."""

    log_mean: float = Field(-0.4, description="P_mean")
    log_std: PositiveFloat = Field(1.2, description="P_std")
    sigma_min: PositiveFloat = 2e-3
    sigma_max: PositiveFloat = 20.0
    offset: NonNegativeFloat = Field(0.3, description="Std of the noise added to a whole channel of an image")


class DenoiserConfig(Spec):
    """The diffusion model D_theta: a U-Net F_theta with the preconditioning of Karras et al. (2022)."""

    image_size: PositiveInt = Field(64, description="Height and width of a frame, in pixels")
    context_frames: PositiveInt = Field(4, description="L: past frames and actions it is conditioned on")
    channels: tuple[PositiveInt, ...] = Field((64, 64, 64, 64), description="One a level; each halves the resolution")
    residual_blocks: tuple[PositiveInt, ...] = Field((2, 2, 2, 2), description="One a level; going up one more")
    middle_blocks: PositiveInt = Field(2, description="Residual blocks at the lowest resolution")
    middle_attention: bool = Field(True, description="Self-attention in the middle blocks")
    condition_dim: PositiveInt = Field(256, description="Of the vector that adaptive group normalisation reads")
    group_size: PositiveInt = Field(32, description="Channels that group normalisation treats together")
    sigma_data: PositiveFloat = 0.5
    noise: NoiseConfig = NoiseConfig()

    @property
    def multiple(self) -> int:
        """Frames are padded to a multiple of it."""
        return int(2 ** (len(self.channels) - 1))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.channels) != len(self.residual_blocks):
            raise ValueError(
                f"{len(self.channels)} channels for {len(self.residual_blocks)} residual_blocks; one a level"
            )
        if self.condition_dim % (2 * self.context_frames):
            raise ValueError(f"condition_dim={self.condition_dim} is no multiple of twice {self.context_frames=}")
        return self


class SamplerConfig(Spec):
    """The reverse process (Karras et al. 2022, algorithm 2, and its schedule, equation 5)."""

    steps: PositiveInt = Field(3, description="n, of the schedule")
    order: Literal[1, 2] = Field(1, description="1: Euler; 2: Heun")
    sigma_min: PositiveFloat = 2e-3
    sigma_max: PositiveFloat = 5.0
    rho: PositiveFloat = 7.0
    s_churn: NonNegativeFloat = Field(0.0, description="Fresh noise, over all steps; 0 is deterministic")
    s_tmin: NonNegativeFloat = Field(0.0, description="No fresh noise at lower levels")
    s_tmax: PositiveFloat | None = Field(None, description="No fresh noise at higher levels; None: at none")
    s_noise: NonNegativeFloat = Field(1.0, description="Scale of the fresh noise")


class RewEndModelConfig(Spec):
    """The reward and termination model R_psi."""

    architecture: Literal["residual", "strided"] = Field(
        "residual", description="'strided': one stride-2 convolution a level, actions join after the convolutions"
    )
    channels: tuple[PositiveInt, ...] = Field((32, 32, 32, 32), description="One a level")
    residual_blocks: tuple[PositiveInt, ...] = Field((2, 2, 2, 2), description="One a level; none if 'strided'")
    middle_blocks: PositiveInt = Field(2, description="At the lowest resolution, each with attention")
    condition_dim: PositiveInt = Field(128, description="Of the embedding of an action")
    group_size: PositiveInt = 32
    memory: Literal["lstm", "none"] = "lstm"
    hidden_dim: PositiveInt = Field(512, description="Of the LSTM and of the head")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.architecture == "residual" and len(self.channels) != len(self.residual_blocks):
            raise ValueError(
                f"{len(self.channels)} channels for {len(self.residual_blocks)} residual_blocks; one a level"
            )
        return self


class ActorCriticConfig(Spec):
    """Policy pi_phi and value V_phi, on frames."""

    architecture: Literal["residual", "strided"] = Field(
        "residual",
        description="'strided': a stride-2 convolution a level, where 'residual' has a block and a pooling",
    )
    channels: tuple[PositiveInt, ...] = Field((32, 32, 64, 64), description="One a level; each halves the resolution")
    group_size: PositiveInt = 32
    memory: Literal["lstm", "none"] = "lstm"
    hidden_dim: PositiveInt = Field(512, description="Of the LSTM, or of the layer in its place")
    input_shift: float = Field(0.0, description="Added to frames in [-1, 1]; 1 makes a black background zero")
    normalise_features: bool = Field(False, description="Layer normalisation of what the convolutions give")


class ImaginationConfig(Spec):
    """Learning in imagination."""

    horizon: PositiveInt = Field(15, description="H")
    gamma: float = Field(0.985, gt=0, le=1, description="Discount")
    lambda_: float = Field(0.95, ge=0, le=1)
    entropy_weight: NonNegativeFloat = Field(0.001, description="eta")
    value_weight: PositiveFloat = 1.0
    after_end: Literal["restart", "stop"] = Field(
        "restart",
        description="'restart': a dream that ends, or is H steps long, begins anew elsewhere and goes on in the next "
        "update; 'stop': each update dreams H steps anew, and what follows an end is left out",
    )
    temperature: PositiveFloat = Field(1.0, description="Of the policy in imagination")
    evaluation_temperature: PositiveFloat = Field(1.0, description="Of the policy, still sampled, in evaluation")


class ComputeConfig(Spec):
    """How it is computed. Changes speed and memory, not the method."""

    precision: Literal["float32", "bfloat16"] = Field("float32", description="Of products; weights stay float32")
    channels_last: bool = Field(True, description="Memory layout of convolutions: the faster one")
    fold_upsampling: bool = Field(
        True, description="An upsampling and its convolution as one at the low resolution: the same numbers"
    )
    compile: bool = Field(False, description="torch.compile the models in dreams; goes on without where it fails")


class DiamondConfig(Spec):
    """DIAMOND, whole. The default is the paper's."""

    denoiser: DenoiserConfig = DenoiserConfig()
    sampler: SamplerConfig = SamplerConfig()
    rew_end_model: RewEndModelConfig = RewEndModelConfig()
    actor_critic: ActorCriticConfig = ActorCriticConfig()
    imagination: ImaginationConfig = ImaginationConfig()
    training: TrainingConfig = TrainingConfig()
    compute: ComputeConfig = ComputeConfig()

    @model_validator(mode="after")
    def _networks_see_pixels(self) -> Self:
        for name in ("rew_end_model", "actor_critic"):
            network: RewEndModelConfig | ActorCriticConfig = getattr(self, name)
            halvings = len(network.channels) - (
                isinstance(network, RewEndModelConfig) and network.architecture == "residual"
            )
            if self.denoiser.image_size % 2**halvings:
                raise ValueError(
                    f"{name} halves the resolution {halvings} times, which image_size={self.denoiser.image_size} does "
                    f"not allow; use a multiple of {2**halvings}, or fewer {name}.channels"
                )
        return self
