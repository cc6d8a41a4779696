"""Whether two observations, actions or trajectories are the same, and where they first differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Equal integers and booleans; floats may differ by 1e-5, as networks do between batch sizes."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return np.allclose(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)
    return bool(np.array_equal(one, other))


def first_difference(one: Sequence[Any], other: Sequence[Any]) -> str | None:
    """'step 3: 1 and 2', or None where the two sequences are the same."""
    for step, (a, b) in enumerate(zip(one, other, strict=False)):
        if not same(a, b):
            return f"step {step}: {_brief(a)} and {_brief(b)}"
    return None if len(one) == len(other) else f"length: {len(one)} and {len(other)} steps"


def _brief(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
