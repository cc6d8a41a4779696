"""Checks of an `EnvSpec` that need no environment."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from wm_core.errors import UsageError
from wm_core.specs import EnvSpec


@runtime_checkable
class ChecksSpec(Protocol):
    """A backend that can refuse a specification before anything is made."""

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` naming the first field that this backend cannot honour."""


MAX_STACK = 1024
MAX_OBSERVATION_BYTES = 10**9
"""More than these is a slip of the pen that would fill the memory."""


def check_numbers(spec: EnvSpec) -> None:
    """`UsageError` where frame skip, frame stack or image size are out of range."""
    skip = spec.frame_skip
    if isinstance(skip, int):
        if skip < 1:
            raise UsageError(f"frame_skip is {skip}; expected at least 1")
    elif not 1 <= skip[0] < skip[1]:
        raise UsageError(f"frame_skip is {skip}; expected (a, b) with 1 <= a < b, for a to b-1 frames")
    if spec.image_size is not None and min(spec.image_size) < 1:
        raise UsageError(f"image_size is {spec.image_size}; expected (height, width), each at least 1 pixel")
    if spec.frame_stack > MAX_STACK:
        raise UsageError(f"frame_stack is {spec.frame_stack}; expected at most {MAX_STACK}")
    if spec.image_size is not None:
        height, width = spec.image_size
        check_observation_bytes(spec, height * width * (1 if spec.observation == "gray" else 3))


def check_observation_bytes(spec: EnvSpec, frame_bytes: int) -> None:
    """`UsageError` where the stack of frames of that many bytes is too large to be meant."""
    total = spec.frame_stack * frame_bytes
    if total > MAX_OBSERVATION_BYTES:
        raise UsageError(
            f"one observation of {spec.id} would take {total / 1e9:.3g} GB (image_size={spec.image_size}, "
            f"frame_stack={spec.frame_stack}); expected at most {MAX_OBSERVATION_BYTES / 1e9:g} GB"
        )


def check_unset(spec: EnvSpec, fields: Collection[str]) -> None:
    """`UsageError` where one of `fields` is not at `EnvSpec`'s default: the backend knows no such thing."""
    for name in fields:
        default = EnvSpec.model_fields[name].get_default(call_default_factory=True)
        value = getattr(spec, name)
        if value != default:
            raise UsageError(
                f"{name}={value!r} means nothing to the '{spec.backend}' backend ({spec.id}); leave it at {default!r}"
            )
