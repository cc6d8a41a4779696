"""How data is collected and how often it is learned from; the same for the three versions.

An environment step is an action of the agent: with a frame skip of 4 it is four frames.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from wm_core.specs import Spec


class TrainingConfig(Spec):
    """The training loop."""

    env_steps: PositiveInt = Field(5_000_000, description="Environment steps of the whole training, prefill included")
    env_steps_per_epoch: PositiveInt = Field(
        10_000, description="Environment steps between lines of metrics; checkpoints and evaluations follow epochs"
    )
    num_envs: PositiveInt = Field(1, description="Environments that are collected in side by side")
    prefill_steps: NonNegativeInt = Field(5_000, description="Steps of a uniform policy before the first update")
    train_ratio: PositiveFloat = Field(
        500.0,
        description="Replayed steps per environment step: train_ratio / (batch_size * sequence_length) updates a step",
    )
    pretrain_updates: NonNegativeInt = Field(0, description="Updates between the prefill and the next step")
    world_model_first_updates: NonNegativeInt = Field(0, description="The first updates are of the world model alone")
    batch_size: PositiveInt = 16
    sequence_length: int = Field(50, ge=2, description="Records of a sequence; it may span episodes")
    replay_capacity: int = Field(
        1_000_000, ge=2, description="Observations held; an episode of T steps has T+1. Beyond it, the oldest go"
    )
    replay_mapped: bool = Field(False, description="Keep the replay in memory-mapped files, and not in memory")
    reward_transform: Literal["none", "tanh", "sign"] = Field("none", description="Of rewards in training only")
    action_noise: NonNegativeFloat = Field(
        0.0, description="Continuous actions in collection: standard deviation of what is added to them, in [-1, 1]"
    )
    epsilon: float = Field(0.0, ge=0, le=1, description="Discrete actions in collection: chance of a uniform one")
    epsilon_final: float = Field(0.0, ge=0, le=1, description="What it falls to, where epsilon_decay_updates is not 0")
    epsilon_decay_updates: NonNegativeInt = Field(0, description="Over so many updates, linearly; 0: it stays")
    evaluate_every: PositiveInt | None = Field(10, description="Epochs between evaluations; None: never")
    evaluation_episodes: PositiveInt = 16
    pictures_every: PositiveInt | None = Field(
        10, description="Epochs between pictures of imagined beside real frames; None: never"
    )
    checkpoint_every: PositiveInt = Field(1, description="Epochs between checkpoints")
    tensorboard: bool = Field(False, description="Write TensorBoard files beside metrics.csv")

    @property
    def updates_per_step(self) -> float:
        """Gradient updates for each environment step after the prefill."""
        return self.train_ratio / (self.batch_size * self.sequence_length)

    def updates_due(self, steps_after_prefill: int) -> int:
        """Updates that should have been taken by then."""
        return self.pretrain_updates + int(steps_after_prefill * self.updates_per_step + 1e-9)

    def exploration(self, updates: int) -> float:
        """Chance of a uniform action after so many updates."""
        if self.epsilon_decay_updates == 0:
            return self.epsilon
        share = min(updates / self.epsilon_decay_updates, 1.0)
        return self.epsilon + share * (self.epsilon_final - self.epsilon)
