"""What the networks see and do: the shapes of observations and actions, and batches of experience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor

from wm_core.specs import Spec

MIN_IMAGE_SIZE = 16
"""Least height and width of an image, in pixels."""


class ObservationLayout(Spec):
    """What the networks see: an image, a vector, or both."""

    image: tuple[PositiveInt, PositiveInt, PositiveInt] | None = Field(
        None, description="(C, H, W), with H and W of 16 or more; pixels are float in [0, 1]"
    )
    vector: PositiveInt | None = Field(None, description="Length of the flattened vector part")

    @model_validator(mode="after")
    def _sees_something(self) -> Self:
        if self.image is None and self.vector is None:
            raise ValueError("an observation has an image, a vector, or both; this one has neither")
        if self.image is not None and min(self.image[1:]) < MIN_IMAGE_SIZE:
            height, width = self.image[1:]
            raise ValueError(
                f"images of {height}x{width} pixels are too small for the convolutions; "
                f"enlarge them to {MIN_IMAGE_SIZE}x{MIN_IMAGE_SIZE} or more, or treat them as vectors"
            )
        return self


class ActionLayout(Spec):
    """What the networks do: one of `size` actions, or `size` numbers in [-1, 1]."""

    kind: Literal["discrete", "continuous"]
    size: PositiveInt


@dataclass(frozen=True)
class Observation:
    """A batch of observations; a part that the layout lacks is None."""

    image: Tensor | None = None
    """(..., C, H, W), float32 in [0, 1]."""
    vector: Tensor | None = None
    """(..., D), float32."""

    def to(self, device: torch.device) -> Observation:
        """On that device."""
        return Observation(
            None if self.image is None else self.image.to(device),
            None if self.vector is None else self.vector.to(device),
        )


@dataclass(frozen=True)
class StreamBatch:
    """B streams of T records (o_t, a_{t-1}, r_t, is_first_t, is_terminal_t).

    A record holds the action that led to its observation, and the reward that came with it. A stream may run across
    episodes: where `is_first`, the record opens one, and its action and reward are those of no step.
    """

    observation: Observation
    action: Tensor
    """(B, T, A), float32: one-hot, or continuous in [-1, 1]."""
    reward: Tensor
    """(B, T), float32."""
    is_first: Tensor
    """(B, T), bool."""
    is_terminal: Tensor
    """(B, T), bool: the episode ended here. A truncation, such as a time limit, is no end."""

    def to(self, device: torch.device) -> StreamBatch:
        """On that device."""
        return StreamBatch(
            self.observation.to(device),
            self.action.to(device),
            self.reward.to(device),
            self.is_first.to(device),
            self.is_terminal.to(device),
        )
