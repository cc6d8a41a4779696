"""What can be set. Versions of Dreamer are values of this configuration; the defaults are DreamerV3's, size 12M.

Sources: V1, Hafner et al. 2020 (arXiv:1912.01603); V2, Hafner et al. 2021 (arXiv:2010.02193); V3, Hafner et al. 2023
(arXiv:2301.04104), with the networks of its first version ("2023") and of its later one ("2024"). Every model is
frozen and refuses unknown fields.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from wm_agent_dreamer.config_training import TrainingConfig
from wm_core.specs import Spec

Activation = Literal["relu", "elu", "silu"]
Norm = Literal["none", "layer", "rms"]
ScalarHead = Literal["normal", "symlog_two_hot", "symexp_two_hot"]


class EncoderConfig(Spec):
    """Of images by convolutions, of vectors by an MLP; their features are concatenated."""

    architecture: Literal["valid", "same", "pooled"] = Field(
        "pooled",
        description="'valid': kernel 4, stride 2, no padding, at 64x64 (V1, V2); 'same': kernel 4, stride 2, padded "
        "(V3 2023); 'pooled': kernel 5, stride 1, 2x2 max-pooling (V3 2024)",
    )
    depth: PositiveInt = Field(16, description="Channels, before the multiplier of a level")
    multipliers: tuple[PositiveInt, ...] = Field((2, 3, 4, 4), description="One a level; each halves the resolution")
    activation: Activation = "silu"
    norm: Norm = "rms"
    vector_layers: NonNegativeInt = Field(3, description="Of the MLP for vectors; 0: they pass unchanged")
    vector_units: PositiveInt = 256
    vector_activation: Activation = "silu"
    symlog_vector: bool = Field(True, description="Vectors are squashed by symlog before the MLP (V3)")


class DecoderConfig(Spec):
    """From features to the mean of the observation."""

    architecture: Literal["valid", "same", "upsampled"] = Field(
        "upsampled",
        description="'valid': transposed kernels 5, 5, 6, 6 from 1x1 to 64x64 (V1, V2); 'same': transposed, kernel 4 "
        "(V3 2023); 'upsampled': nearest upsampling and kernel 5, from a block-wise first layer (V3 2024)",
    )
    depth: PositiveInt = 16
    multipliers: tuple[PositiveInt, ...] = Field((2, 3, 4, 4), description="As the encoder's, outermost first")
    activation: Activation = "silu"
    norm: Norm = "rms"
    blocks: PositiveInt = Field(8, description="Of the first layer, with 'upsampled'")
    units: PositiveInt = Field(256, description="Of the first layer's branch for the stochastic state, 'upsampled'")
    output: Literal["linear", "sigmoid"] = Field("sigmoid", description="'linear' is around mid-gray")
    image_loss: Literal["normal", "squared_error"] = Field(
        "squared_error", description="'normal': unit variance, that is half the squared error; sums over pixels"
    )
    vector_layers: NonNegativeInt = 3
    vector_units: PositiveInt = 256
    vector_activation: Activation = "silu"
    vector_loss: Literal["normal", "symlog_squared_error"] = "symlog_squared_error"


class RSSMConfig(Spec):
    """The recurrent state-space model: h_t = f(h_{t-1}, z_{t-1}, a_{t-1}), z_t ~ q(z | h_t, e_t), z^_t ~ p(z | h_t)."""

    deter: PositiveInt = Field(2048, description="Size of h")
    hidden: PositiveInt = Field(256, description="Units of the layers around it")
    stoch: PositiveInt = Field(32, description="Latent variables in z")
    classes: NonNegativeInt = Field(16, description="Of each, as one-hots; 0: Gaussian")
    gru: Literal["keras", "layer_norm", "block"] = "block"
    blocks: PositiveInt = Field(8, description="Of the recurrent weights, with 'block'")
    prior_layers: PositiveInt = 2
    posterior_layers: PositiveInt = 1
    activation: Activation = "silu"
    norm: Norm = "rms"
    unimix: float = Field(0.01, ge=0, lt=1, description="Share of the uniform distribution in categorical latents")
    std: Literal["softplus", "sigmoid2"] = Field("softplus", description="Of Gaussian latents; plus min_std")
    min_std: PositiveFloat = 0.1
    initial: Literal["zeros", "learned"] = Field("zeros", description="'learned': tanh(w), and the prior's mode")

    @model_validator(mode="after")
    def _blocks_divide(self) -> Self:
        if self.gru == "block" and self.deter % self.blocks:
            raise ValueError(f"rssm.deter={self.deter} is no multiple of rssm.blocks={self.blocks}")
        if self.classes == 1:
            raise ValueError("rssm.classes=1 has one value only; use 2 or more, or 0 for Gaussian latents")
        return self

    @property
    def stoch_size(self) -> int:
        """Length of z, flattened."""
        return self.stoch * max(1, self.classes)

    @property
    def one_hots(self) -> tuple[int, int] | None:
        """How many one-hots of how many classes z is; None where it is Gaussian."""
        return (self.stoch, self.classes) if self.classes else None

    @property
    def feature_size(self) -> int:
        """Length of (z, h), which every head reads."""
        return self.stoch_size + self.deter


class HeadsConfig(Spec):
    """The MLPs on (z, h)."""

    units: PositiveInt = 256
    activation: Activation = "silu"
    norm: Norm = "rms"
    reward_layers: PositiveInt = 1
    continue_layers: NonNegativeInt = Field(1, description="0: no such head; all imagined steps go on")
    actor_layers: PositiveInt = 3
    critic_layers: PositiveInt = 3
    reward: ScalarHead = Field(
        "symexp_two_hot",
        description="'normal': unit variance; 'symlog_two_hot': bins even in symlog space, the target is symlog(x) "
        "(V3 2023); 'symexp_two_hot': bins at symexp of an even grid, the target is x (V3 2024)",
    )
    bins: int = Field(255, ge=3, description="Of the two-hot heads, odd: one is 0")
    bin_limit: PositiveFloat = Field(20.0, description="Outermost bin, in symlog space")
    actor_output_scale: NonNegativeFloat = Field(0.01, description="Of the last layer's initial weights")
    scalar_output_scale: NonNegativeFloat = Field(0.0, description="The same, of two-hot reward and critic heads")

    @model_validator(mode="after")
    def _zero_is_a_bin(self) -> Self:
        if self.bins % 2 == 0:
            raise ValueError(f"heads.bins={self.bins} has no bin at 0; use an odd number")
        return self


class LossConfig(Spec):
    """Of the world model: the mean over batch and time of reconstruction, reward, continue and KL."""

    dynamics_scale: NonNegativeFloat = Field(1.0, description="Of KL(sg(q) || p), which trains the prior")
    representation_scale: NonNegativeFloat = Field(
        0.1,
        description="Of KL(q || sg(p)), which trains the posterior. Equal to dynamics_scale, it is V1's one KL(q || p)",
    )
    free_nats: NonNegativeFloat = Field(1.0, description="The KL is not pushed below")
    free_per: Literal["batch_mean", "element"] = Field("element", description="What free_nats bounds")
    reward_scale: PositiveFloat = 1.0
    continue_scale: PositiveFloat = 1.0
    discounted_continue: bool = Field(
        True, description="The continue head's target is gamma * (1 - is_terminal), and gamma is applied nowhere else"
    )
    replay_value: NonNegativeFloat = Field(0.3, description="Scale of the critic's loss on replayed states; 0: none")


class ActorConfig(Spec):
    """The policy."""

    grad: Literal["auto", "reinforce", "dynamics", "both"] = Field(
        "reinforce", description="'auto': reinforce with discrete actions, dynamics with continuous ones"
    )
    dynamics_share: float = Field(0.1, ge=0, le=1, description="Of the dynamics gradient, with 'both'")
    continuous: Literal["tanh_normal", "truncated_normal", "bounded_normal"] = "bounded_normal"
    min_std: PositiveFloat = Field(0.1, description="Of continuous actions")
    init_std: PositiveFloat = Field(
        1.0,
        description="Standard deviation at output 0 ('tanh_normal', 'truncated_normal'); maximum ('bounded_normal')",
    )
    unimix: float = Field(0.01, ge=0, lt=1, description="Share of the uniform distribution in discrete policies")
    entropy: NonNegativeFloat = Field(3e-4, description="Scale of the entropy bonus")
    normalise_returns: bool = Field(True, description="Divide by the range of returns, when it is above the limit (V3)")
    return_decay: float = Field(0.99, ge=0, lt=1, description="Of the range's moving average")
    return_limit: PositiveFloat = Field(1.0, description="Ranges below are not divided by")


class CriticConfig(Spec):
    """The value function, and its slow copy."""

    kind: ScalarHead = "symexp_two_hot"
    slow: Literal["none", "target", "regulariser"] = Field(
        "regulariser", description="'target': lambda returns use the slow copy (V2); 'regulariser': fit to it (V3)"
    )
    slow_every: PositiveInt = Field(1, description="Critic updates between updates of the slow copy")
    slow_fraction: float = Field(0.02, gt=0, le=1, description="Of the critic that then enters the copy")


class ImaginationConfig(Spec):
    """Learning in imagination."""

    horizon: int = Field(15, ge=2, description="H")
    gamma: float = Field(1 - 1 / 333, gt=0, le=1, description="Discount")
    lambda_: float = Field(0.95, ge=0, le=1)
    starts: PositiveInt | None = Field(None, description="Posterior states to start from, drawn at random; None: all")
    first_continue: Literal["predicted", "replay"] = Field(
        "predicted",
        description="Of the states it starts from: the head's, or the replay's is_terminal (V2; it also stands for "
        "V1's leaving out of last states)",
    )
    value_counts: Literal["following", "arrival"] = Field(
        "following",
        description="Rewards in the value of a state: those after it (V3), or the one on arrival as well (V1, V2)",
    )


class AdamConfig(Spec):
    """Adam, with a decay of the weights of its own."""

    learning_rate: PositiveFloat
    epsilon: PositiveFloat = 1e-5
    max_grad_norm: PositiveFloat = 100.0
    weight_decay: float = Field(0.0, ge=0, lt=1, description="Weights are multiplied by 1 - this at each update")


class LaPropConfig(Spec):
    """Adaptive gradient clipping, then LaProp, with a linear warm-up: one optimizer for everything (V3 2024)."""

    learning_rate: PositiveFloat = 4e-5
    epsilon: PositiveFloat = 1e-20
    clip: PositiveFloat = Field(0.3, description="Largest norm of a tensor's gradient, relative to the tensor's")
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.999, ge=0, lt=1)
    warmup: NonNegativeInt = Field(1000, description="Updates until the full learning rate")


class OptimizersConfig(Spec):
    """`joint` for everything, or one Adam for each of the three."""

    joint: LaPropConfig | None = LaPropConfig()
    world_model: AdamConfig = AdamConfig(learning_rate=1e-4, epsilon=1e-8, max_grad_norm=1000.0)
    actor: AdamConfig = AdamConfig(learning_rate=3e-5)
    critic: AdamConfig = AdamConfig(learning_rate=3e-5)


class ComputeConfig(Spec):
    """How it is computed. Changes speed and memory, not the method."""

    precision: Literal["float32", "bfloat16"] = Field("float32", description="Of products; weights stay float32")


class DreamerConfig(Spec):
    """Dreamer, whole."""

    initialisation: Literal["glorot_uniform", "truncated_normal", "truncated_normal_in"] = Field(
        "truncated_normal_in",
        description="'glorot_uniform' (V1, V2); truncated normal by the mean of fan-in and fan-out (V3 2023) or by "
        "fan-in (V3 2024)",
    )
    encoder: EncoderConfig = EncoderConfig()
    decoder: DecoderConfig = DecoderConfig()
    rssm: RSSMConfig = RSSMConfig()
    heads: HeadsConfig = HeadsConfig()
    loss: LossConfig = LossConfig()
    actor: ActorConfig = ActorConfig()
    critic: CriticConfig = CriticConfig()
    imagination: ImaginationConfig = ImaginationConfig()
    optimizers: OptimizersConfig = OptimizersConfig()
    training: TrainingConfig = TrainingConfig()
    compute: ComputeConfig = ComputeConfig()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, levels in (("encoder", self.encoder), ("decoder", self.decoder)):
            if levels.architecture == "valid" and len(levels.multipliers) != 4:
                raise ValueError(f"{name}.architecture='valid' has 4 levels, not {len(levels.multipliers)} multipliers")
        if self.decoder.architecture == "upsampled" and self.rssm.deter % self.decoder.blocks:
            raise ValueError(f"rssm.deter={self.rssm.deter} is no multiple of decoder.blocks={self.decoder.blocks}")
        channels = self.decoder.depth * self.decoder.multipliers[-1]
        if self.decoder.architecture == "upsampled" and channels % self.decoder.blocks:
            raise ValueError(f"the decoder's {channels} innermost channels are no multiple of {self.decoder.blocks=}")
        return self
