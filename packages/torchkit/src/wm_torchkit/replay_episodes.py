"""Which episodes a replay holds, oldest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ID, _LANE, _FIRST, _STEPS, _FINISHED = range(5)


@dataclass(frozen=True)
class Episodes:
    """What is known of each episode; arrays of shape `(n,)`, oldest first."""

    ids: NDArray[np.int64]
    """0, 1, 2, ... in the order in which they began; dropped ones are missing."""
    steps: NDArray[np.int64]
    """Actions taken so far."""
    finished: NDArray[np.bool_]
    """False for an episode in progress."""


class EpisodeTable:
    """Lane, first row, steps and state of each episode, as columns of one growing array."""

    def __init__(self) -> None:
        self._columns = np.empty((16, 5), np.int64)
        self._count = 0
        self._next_id = 0

    def __len__(self) -> int:
        return self._count

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of each episode, shape `(n,)`."""
        return self._columns[: self._count, _STEPS]

    @property
    def lanes(self) -> NDArray[np.int64]:
        """Lane of each episode, shape `(n,)`."""
        return self._columns[: self._count, _LANE]

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Row of each episode's first observation within its lane, shape `(n,)`."""
        return self._columns[: self._count, _FIRST]

    def begin(self, lane: int, first_row: int) -> None:
        """A new episode at the end of the table."""
        if self._count == len(self._columns):
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
        self._columns[self._count] = (self._next_id, lane, first_row, 0, 0)
        self._count += 1
        self._next_id += 1

    def add_step(self, lane: int, ends: bool) -> None:
        """One more step of the lane's newest episode."""
        newest = next(index for index in range(self._count - 1, -1, -1) if self._columns[index, _LANE] == lane)
        self._columns[newest, _STEPS] += 1
        self._columns[newest, _FINISHED] = ends

    def oldest(self, lane: int) -> int | None:
        """Index of the lane's oldest episode."""
        return next((index for index in range(self._count) if self._columns[index, _LANE] == lane), None)

    def drop(self, index: int) -> None:
        """Forget an episode."""
        self._columns[index : self._count - 1] = self._columns[index + 1 : self._count]
        self._count -= 1

    def is_finished(self, index: int) -> bool:
        """Whether the episode has ended."""
        return bool(self._columns[index, _FINISHED])

    def snapshot(self) -> Episodes:
        """A copy for callers."""
        table = self._columns[: self._count].copy()
        return Episodes(table[:, _ID], table[:, _STEPS], table[:, _FINISHED].astype(bool))

    def state_dict(self) -> dict[str, object]:
        """Everything, in plain values and arrays."""
        return {"columns": self._columns[: self._count].copy(), "next_id": self._next_id}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Put back what `state_dict` gave."""
        columns = np.asarray(state["columns"], np.int64).reshape(-1, 5)
        self._count = len(columns)
        self._columns = np.concatenate([columns, np.empty((16, 5), np.int64)])
        self._next_id = int(str(state["next_id"]))
