"""What is trained when, on what (Alonso et al., NeurIPS 2024, Appendix D), with the published run's values as defaults.

An epoch collects and then updates each component. Training proper begins once the initial collection is over.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from wm_core.specs import Spec


class ComponentSchedule(Spec):
    """How often and how one component is updated."""

    first_steps: NonNegativeInt = Field(400, description="Updates in the first training epoch")
    steps_per_epoch: NonNegativeInt = Field(400, description="Updates in every later epoch")
    batch_size: PositiveInt = 32
    micro_batch_size: PositiveInt | None = Field(None, description="Gradients add up over parts of this size")
    learning_rate: PositiveFloat = 1e-4
    adam_eps: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = Field(0.0, description="On weights; not on biases, embeddings and norms")
    warmup_steps: NonNegativeInt = Field(100, description="The learning rate rises from 0 over so many updates")
    max_grad_norm: PositiveFloat = 100.0

    def updates(self, training_epoch: int) -> int:
        """How many updates it takes in that epoch of training, which count from 1; below 1 there are none."""
        if training_epoch < 1:
            return 0
        return self.first_steps if training_epoch == 1 else self.steps_per_epoch

    @model_validator(mode="after")
    def _micro_batches_fill_the_batch(self) -> Self:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size={self.batch_size} is no multiple of {self.micro_batch_size=}")
        return self


class CollectionConfig(Spec):
    """The policy in the real environment."""

    initial_steps: NonNegativeInt = Field(5_000, description="Environment steps before training, at least")
    max_initial_steps: NonNegativeInt = Field(10_000, description="Environment steps before training, at most")
    min_rare_rewards: NonNegativeInt = Field(
        10, description="Training waits for so many steps whose reward's sign is not the commonest one"
    )
    initial_actions: Literal["policy", "uniform"] = Field("policy", description="How they act before training")
    steps_per_epoch: PositiveInt = 100
    max_env_steps: PositiveInt = Field(100_000, description="Environment steps in all")
    epsilon: float = Field(0.01, ge=0, le=1, description="Chance of a uniform action")
    temperature: PositiveFloat = Field(1.0, description="Of the policy; Freeway needs a low one, see the README")
    replay_capacity: int = Field(
        120_000, ge=2, description="Observations held; an episode of T steps has T+1. Beyond it, the oldest go"
    )

    @model_validator(mode="after")
    def _at_least_below_at_most(self) -> Self:
        if self.max_initial_steps < self.initial_steps:
            raise ValueError(f"{self.max_initial_steps=} is below {self.initial_steps=}")
        return self

    @property
    def epochs(self) -> int:
        """Epochs in which the environment is stepped."""
        return max(1, -(-(self.max_env_steps - self.initial_steps) // self.steps_per_epoch))

    def total(self, epoch: int) -> int:
        """Environment steps up to the end of that epoch; epochs count from 1."""
        return min(self.initial_steps + epoch * self.steps_per_epoch, self.max_env_steps) if epoch > 0 else 0

    def steps(self, epoch: int) -> int:
        """Environment steps in that epoch. The first has the initial ones, too."""
        return self.total(epoch) - self.total(epoch - 1)


class TrainingConfig(Spec):
    """The training loop."""

    data: str | None = Field(
        None, description="Own episodes, a file or a directory, to learn from before anything is collected"
    )
    collection: CollectionConfig = CollectionConfig()
    denoiser: ComponentSchedule = ComponentSchedule(first_steps=10_000, weight_decay=1e-2, max_grad_norm=1.0)
    rew_end_model: ComponentSchedule = ComponentSchedule(first_steps=10_000, weight_decay=1e-2)
    actor_critic: ComponentSchedule = ComponentSchedule(first_steps=5_000)
    final_epochs: NonNegativeInt = Field(50, description="Epochs without collection after the others")
    max_epochs: PositiveInt | None = Field(None, description="Fewer epochs than these settings make; None: all")
    age_weights: tuple[PositiveFloat, ...] = Field(
        (0.1, 0.1, 0.1, 0.7),
        min_length=1,
        description="Chances of the episodes, in as many parts by age, the oldest first; (1,) is uniform",
    )
    denoiser_sees_final_frames: bool = Field(
        False, description="The denoiser also learns the frame that an episode ends with; published: not"
    )
    truncation_is_end: bool = Field(False, description="A time limit counts as an end for the reward/end model")
    evaluate_every: PositiveInt | None = Field(10, description="Epochs between evaluations; None: never")
    evaluation_episodes: PositiveInt = 4
    final_evaluation_episodes: PositiveInt = Field(100, description="After the last epoch")
    pictures_every: PositiveInt | None = Field(
        25, description="Epochs between pictures of predictions and dreams; None: never"
    )
    film: Literal["gif", "mp4"] = Field("gif", description="Of dreams; MP4 needs PyAV")
    checkpoint_every: PositiveInt = Field(5, description="Epochs between checkpoints")
    tensorboard: bool = Field(False, description="Write TensorBoard files beside metrics.csv")

    @property
    def epochs(self) -> int:
        """The epoch with which the training ends."""
        every = self.collection.epochs + self.final_epochs
        return every if self.max_epochs is None else min(every, self.max_epochs)
