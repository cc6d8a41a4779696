"""What can be set, and the paper's values as defaults (Micheli et al., ICLR 2023, Appendix A, Tables 2-6).

Every model is frozen and refuses unknown fields. Where the paper leaves something open, the default is what the
published checkpoints were trained with.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from wm_core.specs import Spec


class TokenizerConfig(Spec):
    """The discrete autoencoder (E, D). Appendix A.1, Tables 2 and 3."""

    image_size: PositiveInt = Field(64, description="Height and width of a frame, in pixels")
    architecture: Literal["residual", "strided"] = Field(
        "residual", description="'strided': one stride-2 convolution a level, closed by a 1x1 projection"
    )
    channels: PositiveInt = Field(64, description="Channels in convolutions, before the multiplier of a level")
    channel_multipliers: tuple[PositiveInt, ...] = Field(
        (1, 1, 1, 1, 1),
        description="One a level. 'residual' halves the resolution between levels, 'strided' at each",
    )
    residual_blocks: PositiveInt = Field(2, description="Per level of the encoder; the decoder has one more")
    attention_resolutions: tuple[PositiveInt, ...] = Field((8, 16), description="Where blocks self-attend")
    attention_in_middle: bool = Field(True, description="Self-attention between the two innermost blocks")
    z_channels: PositiveInt = Field(512, description="Channels between the convolutions and the 1x1 projection")
    vocabulary_size: PositiveInt = Field(512, description="N")
    embedding_dim: PositiveInt = Field(512, description="d, of a code")
    codebook: Literal["gradient", "ema"] = Field("gradient", description="How the codes learn")
    ema_decay: float = Field(0.99, gt=0, lt=1, description="Of code sizes and sums, with codebook 'ema'")
    dead_code_threshold: NonNegativeFloat = Field(
        0.01, description="With 'ema': a code whose averaged uses a batch fall below is re-seeded"
    )
    reconstruction_loss: Literal["l1", "squared_error"] = "l1"
    perceptual_weight: NonNegativeFloat = Field(1.0, description="Of the LPIPS loss; 0 builds none")
    commitment_weight: NonNegativeFloat = Field(1.0, description="beta")

    @property
    def downsamplings(self) -> int:
        """How often the encoder halves the resolution."""
        return len(self.channel_multipliers) - (self.architecture == "residual")

    @property
    def grid_size(self) -> int:
        """Height and width of the token grid."""
        return self.image_size >> self.downsamplings

    @property
    def tokens_per_frame(self) -> int:
        """K."""
        return self.grid_size**2

    @model_validator(mode="after")
    def _grid_divides_image(self) -> Self:
        if not self.channel_multipliers or self.grid_size << self.downsamplings != self.image_size:
            raise ValueError(
                f"{len(self.channel_multipliers)} levels halve the resolution {self.downsamplings} times, which "
                f"image_size={self.image_size} does not allow; use a multiple of {2**self.downsamplings}"
            )
        if self.tokens_per_frame < 2:
            raise ValueError("a frame must be at least 2 tokens; use fewer channel_multipliers")
        return self


class WorldModelConfig(Spec):
    """The transformer G. Appendix A.2, Table 4."""

    timesteps: int = Field(20, ge=2, description="L: frames (with their actions) it can look back on")
    embedding_dim: PositiveInt = Field(256, description="D")
    layers: PositiveInt = Field(10, description="M")
    heads: PositiveInt = 4
    embedding_dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    residual_dropout: float = Field(0.1, ge=0, lt=1)
    reward_and_end_heads: Literal["mlp", "linear"] = "mlp"
    reward_transform: Literal["none", "sign"] = "sign"
    reward_loss: Literal["mse", "cross_entropy"] = Field(
        "cross_entropy", description="'cross_entropy': over the classes -1, 0, 1; 'mse': one regressed number"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.embedding_dim % self.heads:
            raise ValueError(f"embedding_dim={self.embedding_dim} is not a multiple of heads={self.heads}")
        if self.reward_loss == "cross_entropy" and self.reward_transform == "none":
            raise ValueError("reward_loss='cross_entropy' has the classes -1, 0, 1: set reward_transform='sign'")
        return self


class ActorCriticConfig(Spec):
    """Policy pi and value V, on reconstructed frames. Appendix A.3."""

    channels: tuple[PositiveInt, ...] = Field((32, 32, 64, 64), description="Each followed by a 2x2 max-pooling")
    lstm_dim: PositiveInt = 512
    separate_networks: bool = Field(False, description="Actor and critic with a CNN and an LSTM each")


class ImaginationConfig(Spec):
    """Learning in imagination. Section 2.3 and Table 6."""

    horizon: int = Field(20, ge=2, description="H")
    burn_in: PositiveInt = Field(20, description="Frames from which the LSTM state is built")
    gamma: float = Field(0.995, gt=0, le=1, description="Discount")
    lambda_: float = Field(0.95, ge=0, le=1)
    entropy_weight: NonNegativeFloat = Field(0.001, description="eta")
    value_weight: PositiveFloat = 1.0
    temperature: PositiveFloat = Field(1.0, description="Of the policy in imagination and collection")
    evaluation_temperature: PositiveFloat = Field(0.5, description="Of the policy, still sampled, in evaluation")
    stop_at_end: bool = Field(False, description="Leave the steps after an imagined end out of the loss")


class ComponentSchedule(Spec):
    """When and on what one component trains. Table 5."""

    start_after_epoch: int = Field(ge=0, description="Its first training epoch is the next one")
    stop_after_epoch: PositiveInt | None = Field(None, description="Its last training epoch; then it is frozen")
    first_steps: NonNegativeInt = Field(0, description="Updates on top of the others in its first training epoch")
    batch_size: PositiveInt
    micro_batch_size: PositiveInt | None = Field(None, description="Gradients add up over parts of this size")
    steps_per_epoch: PositiveInt = 200
    learning_rate: PositiveFloat = 1e-4
    adam_betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: NonNegativeFloat = Field(0.0, description="On the weights of linear layers only")
    max_grad_norm: PositiveFloat = 10.0

    def updates(self, epoch: int) -> int:
        """How many updates it takes in that epoch; epochs count from 1."""
        if epoch <= self.start_after_epoch or epoch > (self.stop_after_epoch or epoch):
            return 0
        return self.steps_per_epoch + (self.first_steps if epoch == self.start_after_epoch + 1 else 0)

    @model_validator(mode="after")
    def _micro_batches_fill_the_batch(self) -> Self:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size={self.batch_size} is no multiple of {self.micro_batch_size=}")
        return self


class TrainingConfig(Spec):
    """The training loop. Algorithm 1 and Table 5."""

    epochs: PositiveInt = 600
    collection_epochs: PositiveInt = Field(500, description="Epochs in which the policy acts in the environment")
    env_steps_per_epoch: PositiveInt = 200
    epsilon: float = Field(0.01, ge=0, le=1, description="Chance of a uniform action in collection")
    prefill_steps: NonNegativeInt = Field(0, description="Steps of a uniform policy before the first epoch's")
    max_env_steps: PositiveInt | None = Field(
        None, description="The training ends with the epoch in which the last of so many environment steps is taken"
    )
    replay_capacity: int = Field(
        120_000, ge=2, description="Observations held; an episode of T steps has T+1. Beyond it, the oldest go"
    )
    perceptual_weights: str = Field("auto", description="'auto', 'random' or a file; see build_perceptual_loss")
    tokenizer: ComponentSchedule = ComponentSchedule(start_after_epoch=5, batch_size=256)
    world_model: ComponentSchedule = ComponentSchedule(start_after_epoch=25, batch_size=64, weight_decay=0.01)
    actor_critic: ComponentSchedule = ComponentSchedule(start_after_epoch=50, batch_size=64)
    evaluate_every: PositiveInt | None = Field(50, description="Epochs between evaluations; None: never")
    evaluation_episodes: PositiveInt = 16
    pictures_every: PositiveInt | None = Field(
        25, description="Epochs between pictures of reconstructions and dreams; None: never"
    )
    checkpoint_every: PositiveInt = Field(1, description="Epochs between checkpoints")
    tensorboard: bool = Field(False, description="Write TensorBoard files beside metrics.csv")

    def collection_steps(self, epoch: int) -> int:
        """Environment steps in that epoch; epochs count from 1."""
        before, now = self._collected(epoch - 1), self._collected(epoch)
        return now - before

    def last_epoch(self) -> int:
        """The epoch with which the training ends."""
        if self.max_env_steps is None or self._collected(self.epochs) < self.max_env_steps:
            return self.epochs
        return next(epoch for epoch in range(1, self.epochs + 1) if self._collected(epoch) >= self.max_env_steps)

    def _collected(self, epoch: int) -> int:
        """Environment steps up to the end of that epoch."""
        steps = min(epoch, self.collection_epochs) * self.env_steps_per_epoch
        steps += self.prefill_steps if epoch > 0 else 0
        return steps if self.max_env_steps is None else min(steps, self.max_env_steps)


class ComputeConfig(Spec):
    """How it is computed. Changes speed and memory, not the method."""

    precision: Literal["float32", "bfloat16"] = Field("float32", description="Of products; weights stay float32")
    channels_last: bool = Field(True, description="Memory layout of convolutions: the faster one")
    gradient_checkpointing: bool = Field(False, description="Recompute activations: less memory, about 1.3x time")
    compile: bool = Field(False, description="torch.compile the passes of imagination; for GPUs")
    cached_reconstructions: NonNegativeInt = Field(
        100_000, description="Reconstructions kept while the tokenizer does not change; at 64x64, 24 KiB each"
    )


class IRISConfig(Spec):
    """IRIS, whole. The default is the paper's."""

    tokenizer: TokenizerConfig = TokenizerConfig()
    world_model: WorldModelConfig = WorldModelConfig()
    actor_critic: ActorCriticConfig = ActorCriticConfig()
    imagination: ImaginationConfig = ImaginationConfig()
    training: TrainingConfig = TrainingConfig()
    compute: ComputeConfig = ComputeConfig()

    @model_validator(mode="after")
    def _policy_sees_pixels(self) -> Self:
        if self.tokenizer.image_size >> len(self.actor_critic.channels) < 1:
            raise ValueError(
                f"{len(self.actor_critic.channels)} poolings leave nothing of {self.tokenizer.image_size} pixels; "
                "use fewer actor_critic.channels"
            )
        return self
