"""How a check fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wm_core.testing.equality import first_difference


class ConformanceError(AssertionError):
    """A plugin breaks its contract. The message gives the rule, what was seen, and how to mend it."""

    def __init__(self, rule: str, seen: str, mend: str) -> None:
        super().__init__(f"{rule}; {seen}; {mend}")


def require(holds: bool, *, rule: str, seen: str, mend: str) -> None:
    """Raise `ConformanceError` unless the rule holds."""
    if not holds:
        raise ConformanceError(rule, seen, mend)


def require_same(one: Sequence[Any], other: Sequence[Any], *, rule: str, seen: str, mend: str) -> None:
    """Raise `ConformanceError` where two sequences differ; `seen` is completed by where, and by both values."""
    difference = first_difference(one, other)
    require(difference is None, rule=rule, seen=f"{seen} {difference}", mend=mend)
