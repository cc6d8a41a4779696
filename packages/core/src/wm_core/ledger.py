"""What the records of a run add up to, taken in one at a time, so that a growing store is read only once."""

from __future__ import annotations

from wm_core.specs import (
    Cell,
    EpisodeRecord,
    FailureRecord,
    LearningRecord,
    Provenance,
    Record,
    RunSpec,
    SessionRecord,
    TrainedRecord,
)


class Ledger:
    """The state of every cell of a run after the records added so far."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.episodes: dict[Cell, dict[int, EpisodeRecord]] = {cell: {} for cell in spec.cells()}
        self.trained: dict[Cell, TrainedRecord] = {}
        self.learned: dict[Cell, LearningRecord] = {}
        self.sessions: list[Provenance] = []
        self.stranger: EpisodeRecord | None = None
        """The first episode that is no part of the run."""
        self._failures: dict[Cell, dict[int | None, FailureRecord]] = {}

    def add(self, record: Record) -> None:
        """Take in one record. Where an episode was recorded twice the first counts; of all else the last."""
        match record:
            case EpisodeRecord():
                if record.cell in self.episodes and record.episode < self.spec.episodes:
                    self.episodes[record.cell].setdefault(record.episode, record)
                elif self.stranger is None:
                    self.stranger = record
            case FailureRecord():
                self._failures.setdefault(record.cell, {})[record.episode] = record
            case TrainedRecord():
                self.trained[record.cell] = record
            case LearningRecord():
                self.learned[record.cell] = record
            case SessionRecord():
                self.sessions.append(record.provenance)

    def is_done(self, cell: Cell) -> bool:
        """Whether all that was planned of a cell is there."""
        if self.spec.measures == "learning":
            return cell in self.learned
        return len(self.episodes.get(cell, {})) >= self.spec.episodes

    def failures_of(self, cell: Cell) -> list[FailureRecord]:
        """The last failure of everything in a cell that is still not measured; the cell's as a whole first."""
        if self.is_done(cell):
            return []
        recorded = self.episodes.get(cell, {})
        missing = [failure for failure in self._failures.get(cell, {}).values() if failure.episode not in recorded]
        return sorted(missing, key=lambda failure: -1 if failure.episode is None else failure.episode)

    def failures(self) -> list[FailureRecord]:
        """`failures_of` every cell, in the order of the cells."""
        cells = dict.fromkeys([*self.spec.cells(), *self._failures])
        return [failure for cell in cells if cell in self._failures for failure in self.failures_of(cell)]
