"""Time left over the whole schedule, from how long steps took so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WINDOW = 200
"""Steps over which a mean duration forgets."""


class Clock:
    """Mean duration of a step of each part, and what that makes of the steps left.

    A part that has not started is guessed from its cost and the parts that were measured.
    """

    def __init__(self, totals: Mapping[str, int], costs: Mapping[str, float]) -> None:
        self._totals = dict(totals)
        self._costs = dict(costs)
        self._done = dict.fromkeys(totals, 0)
        self._seconds = dict.fromkeys(totals, 0.0)
        self._measured = dict.fromkeys(totals, 0)
        self._shown = 0.0

    def tick(self, name: str, seconds: float) -> None:
        """A step of that part took so long."""
        self._done[name] += 1
        self._measured[name] = min(self._measured[name] + 1, _WINDOW)
        self._seconds[name] += (seconds - self._seconds[name]) / self._measured[name]

    @property
    def all_measured(self) -> bool:
        """Whether no part that is still to come had to be guessed."""
        return all(self._measured[name] or self._left(name) == 0 for name in self._totals)

    @property
    def seconds_left(self) -> float:
        """Seconds until the schedule ends."""
        return sum(self._left(name) * seconds for name, seconds in self._durations().items())

    @property
    def done(self) -> float:
        """Share of the schedule's time that is over, 0 to 1, never less than before."""
        spent = sum(self._done[name] * seconds for name, seconds in self._durations().items())
        left = self.seconds_left
        self._shown = max(self._shown, spent / (spent + left) if spent + left > 0 else float(not self._open()))
        return self._shown

    def state_dict(self) -> dict[str, Any]:
        """Steps done and durations, by part."""
        return {"done": dict(self._done), "seconds": dict(self._seconds), "measured": dict(self._measured)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put back what `state_dict` gave; parts that the schedule no longer has are left out."""
        for name in self._totals:
            self._done[name] = state["done"].get(name, 0)
            self._seconds[name] = state["seconds"].get(name, 0.0)
            self._measured[name] = state["measured"].get(name, 0)

    def _left(self, name: str) -> int:
        return max(self._totals[name] - self._done[name], 0)

    def _open(self) -> bool:
        return any(self._left(name) for name in self._totals)

    def _durations(self) -> dict[str, float]:
        measured = [name for name in self._totals if self._measured[name]]
        cost = sum(self._costs[name] for name in measured)
        seconds_per_cost = sum(self._seconds[name] for name in measured) / cost if cost else 0.0
        return {
            name: self._seconds[name] if self._measured[name] else self._costs[name] * seconds_per_cost
            for name in self._totals
        }
