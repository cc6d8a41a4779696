"""How Genie is trained: on which video, and each part when and how. Appendices C, E and F."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from wm_core.specs import Spec


class ComponentSchedule(Spec):
    """When a part learns, and its AdamW. Epochs count from 1."""

    start_after_epoch: NonNegativeInt
    stop_after_epoch: PositiveInt
    steps_per_epoch: PositiveInt
    batch_size: PositiveInt
    learning_rate: PositiveFloat
    final_learning_rate: PositiveFloat = Field(description="A cosine leads there by the part's last step")
    warmup_steps: NonNegativeInt = 0
    weight_decay: NonNegativeFloat = 1e-4
    adam_betas: tuple[float, float] = (0.9, 0.9)
    max_grad_norm: PositiveFloat = Field(1.0, description="Not in the paper")

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.stop_after_epoch <= self.start_after_epoch:
            raise ValueError(
                f"stop_after_epoch={self.stop_after_epoch} is not after start_after_epoch={self.start_after_epoch}"
            )
        return self

    @property
    def total_steps(self) -> int:
        """Of the whole training."""
        return (self.stop_after_epoch - self.start_after_epoch) * self.steps_per_epoch

    def steps(self, epoch: int) -> int:
        """In that epoch."""
        return self.steps_per_epoch if self.start_after_epoch < epoch <= self.stop_after_epoch else 0


_JOINT = ComponentSchedule(
    start_after_epoch=300,
    stop_after_epoch=425,
    steps_per_epoch=1000,
    batch_size=512,
    learning_rate=3e-5,
    final_learning_rate=3e-6,
    warmup_steps=5000,
)
"""The latent action model and the dynamics model are trained together. Appendix C."""


class TrainingConfig(Spec):
    """The training of all parts. Video that is not given is collected, the expert's where there is a scripted one."""

    video: str | None = Field(None, description="Dataset that the world model learns from; needs no actions")
    expert: str | None = Field(None, description="Dataset of an expert that the policy is cloned from")
    video_steps: PositiveInt = Field(10_000_000, description="To collect with random actions where no video is given")
    expert_steps: PositiveInt = Field(1_000_000, description="To collect from the scripted expert where none is given")
    expert_random_share: float = Field(
        0.1, ge=0, le=1, description="Share of the expert's actions that are random when it is collected. Appendix E"
    )
    labels: PositiveInt = Field(200, description="Labelled expert transitions behind the map to real actions")
    held_out: float = Field(0.05, gt=0, lt=1, description="Share of episodes or levels that metrics are taken on")
    split_by: Literal["episode", "level"] = "episode"
    epochs: PositiveInt = Field(500, description="Training ends after these, whatever the parts' schedules say")
    hide_places: bool = Field(
        False,
        description="Show the latent action model's encoder each clip rolled sideways and with a band of rows missing, "
        "so that an action cannot name a place (`augmentation.hide_places`); not in the paper",
    )
    tokenizer: ComponentSchedule = ComponentSchedule(
        stop_after_epoch=300,
        start_after_epoch=0,
        steps_per_epoch=1000,
        batch_size=512,
        learning_rate=3e-4,
        final_learning_rate=3e-4,
        warmup_steps=10_000,
    )
    latent_actions: ComponentSchedule = _JOINT
    dynamics: ComponentSchedule = _JOINT
    policy: ComponentSchedule = ComponentSchedule(
        start_after_epoch=425,
        stop_after_epoch=500,
        steps_per_epoch=1000,
        batch_size=16,
        learning_rate=3e-5,
        final_learning_rate=3e-6,
        warmup_steps=5000,
        adam_betas=(0.9, 0.96),
    )
    evaluate_every: PositiveInt | None = Field(5, description="Epochs between measurements of the world model")
    evaluation_clips: PositiveInt = 64
    pictures_every: PositiveInt | None = 25
    checkpoint_every: PositiveInt = 1
    tensorboard: bool = False

    @model_validator(mode="after")
    def _labels_come_from_a_frozen_model(self) -> Self:
        if self.policy.start_after_epoch < self.latent_actions.stop_after_epoch:
            raise ValueError(
                f"policy.start_after_epoch={self.policy.start_after_epoch} is before the latent actions are learned "
                f"(latent_actions.stop_after_epoch={self.latent_actions.stop_after_epoch}); they label its video"
            )
        return self
