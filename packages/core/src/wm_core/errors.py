"""The errors that reach a user. Each says what is wrong, what was expected, and what to do next.

The command line prints the message on one line and exits with the error's `exit_code`:
2 when the command line or an input was wrong, 1 when a measurement failed.
"""

from __future__ import annotations

from typing import ClassVar


class WMBenchError(Exception):
    """Base of every error that is shown to a user without a traceback."""

    exit_code: ClassVar[int] = 2


class UsageError(WMBenchError):
    """The request itself is wrong: an unknown game, a repeated seed, zero episodes."""


class PluginError(WMBenchError):
    """A plugin is missing, ambiguous, broken, or written for another version of the core."""


class CheckpointError(WMBenchError):
    """A checkpoint is missing, truncated, of another agent, or not a checkpoint at all."""


class StoreError(WMBenchError):
    """The run directory cannot be written, is in use, or holds another run."""


class DiskError(StoreError):
    """The disk refused a record in mid-run. What was recorded before is safe."""

    exit_code = 1


class EnvironmentFailure(WMBenchError):
    """An environment raised, or returned something that is not a step. `lane` says which of a batch did."""

    exit_code = 1

    def __init__(self, message: str, lane: int | None = None) -> None:
        super().__init__(message)
        self.lane = lane


class AgentFailure(WMBenchError):
    """An agent raised, or returned something that is not an action or a result."""

    exit_code = 1
