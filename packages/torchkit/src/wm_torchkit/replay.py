"""Episode replay: uint8 frames, vectors or both, a capacity in steps, and an exact state."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm_core.errors import CheckpointError, UsageError
from wm_torchkit.replay_checks import RowChecks
from wm_torchkit.replay_episodes import Episodes, EpisodeTable
from wm_torchkit.replay_sampling import (
    Padding,
    Sequences,
    Stream,
    episode_probabilities,
    sequence_rows,
    sequences,
    stream,
)
from wm_torchkit.replay_storage import MemoryRows, RowFiles, RowStore, human_size, row_dtype

_LOG = logging.getLogger(__name__)

EpisodeWeights = Callable[[Episodes], ArrayLike]
"""From all episodes, oldest first, to a weight each."""


class EpisodeReplay:
    """The newest episodes, whole, in at most `capacity` observations.

    An episode of T steps takes T + 1 places, since its final observation is kept. When a place is missing,
    the oldest episode is dropped as a whole. An episode in progress can be sampled as far as it has got.

    `frame_shape` is `(H, W, C)`, of any number of channels. With `vector_dim`, an observation is a vector of so many
    floats too, or, where `frame_shape` is None, alone. Actions are integers below `num_actions`, or vectors of
    `action_dim` floats; give one of the two. `lanes` is the number of environments whose episodes run side by side;
    each has `capacity // lanes` places. `rng` draws the samples, and its state is part of the replay's.

    `directory` is where rows go when the state is taken (each row once, so that saving costs what was added
    since). With `mapped`, rows live there and not in memory.
    """

    def __init__(
        self,
        frame_shape: tuple[int, int, int] | None,
        capacity: int,
        rng: np.random.Generator,
        *,
        num_actions: int | None = None,
        action_dim: int | None = None,
        vector_dim: int | None = None,
        lanes: int = 1,
        directory: Path | None = None,
        mapped: bool = False,
    ) -> None:
        self._checks = RowChecks(frame_shape, vector_dim, num_actions, action_dim)
        if lanes < 1 or capacity < 2 * lanes:
            raise UsageError(f"a replay of capacity {capacity} for {lanes} lane(s); it needs 2 places a lane")
        if mapped and directory is None:
            raise UsageError("a mapped replay needs a directory")
        self.frame_shape = frame_shape
        self.lanes = lanes
        self.capacity = capacity // lanes * lanes
        self._rng = rng
        self._dtype = row_dtype(frame_shape, action_dim, vector_dim)
        place = f"in files under {directory}" if mapped else "in memory"
        _LOG.info("replay of %d steps: up to %s %s", self.capacity, human_size(self.size_bytes), place)
        self._files = RowFiles(directory, self._dtype, lanes) if directory else None
        self._memory = None if mapped else MemoryRows(self._dtype, self.capacity)
        self._episodes = EpisodeTable()
        self._heads = [0] * lanes
        """Rows ever written, by lane."""
        self._saved = [0] * lanes
        """Rows that are in the files, by lane; for a replay in memory."""
        self._open = [False] * lanes
        """Whether the lane has an episode in progress."""
        self._tails_to_commit: list[int] | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of all rows when full. Frames are all but a few of them."""
        return self.capacity * self._dtype.itemsize

    @property
    def num_steps(self) -> int:
        """Steps held now."""
        return int(self._episodes.steps.sum())

    def episodes(self) -> Episodes:
        """The episodes held now, oldest first."""
        return self._episodes.snapshot()

    # Collecting

    def begin_episode(
        self, frame: NDArray[np.uint8] | None, lane: int = 0, *, vector: NDArray[np.floating] | None = None
    ) -> None:
        """Start an episode at its first observation, uint8 `(H, W, C)`, floats `(D,)`, or both."""
        self._check_lane(lane)
        if self._open[lane]:
            raise UsageError(f"lane {lane} has an episode in progress; end it with truncated=True first")
        observation = self._checks.observation(frame, vector)
        self._make_room(lane)
        self._episodes.begin(lane, self._heads[lane])
        self._open[lane] = True
        action = np.zeros(self._checks.action_shape, self._dtype["action"].base)
        self._write(lane, observation, action, 0.0, terminated=False, truncated=False, is_first=True)

    def add_step(
        self,
        action: ArrayLike,
        reward: float,
        terminated: bool,
        truncated: bool,
        next_frame: NDArray[np.uint8] | None,
        lane: int = 0,
        *,
        next_vector: NDArray[np.floating] | None = None,
    ) -> None:
        """The action taken on the latest observation, what it brought, and the observation it led to.

        `terminated` or `truncated` ends the episode; `next_frame` and `next_vector` are then its final observation.
        """
        self._check_lane(lane)
        if not self._open[lane]:
            raise UsageError(f"lane {lane} has no episode in progress; begin one with its first observation")
        action, observation = self._checks.action(action), self._checks.observation(next_frame, next_vector)
        if not np.isfinite(reward):
            raise UsageError(f"a reward is {reward}; expected a finite number from the environment")
        self._make_room(lane)
        ends = bool(terminated or truncated)
        self._write(lane, observation, action, reward, terminated=terminated, truncated=truncated, is_first=False)
        self._episodes.add_step(lane, ends)
        self._open[lane] = not ends

    # Sampling

    def sample(
        self,
        batch_size: int,
        length: int,
        padding: Padding = "right",
        weights: EpisodeWeights | ArrayLike | None = None,
    ) -> Sequences:
        """`batch_size` sequences of `length` steps, each within one episode.

        The episode is uniform, not by length, or by `weights` (one an episode, oldest first, or a function of
        the episodes). Right padding draws the first step uniformly from the episode's, left padding the last.
        Raises `UsageError` when nothing can be sampled.
        """
        if batch_size < 1 or length < 1:
            raise UsageError(f"a batch of {batch_size} sequences of {length} steps; expected at least 1 of 1")
        episodes = self.episodes()
        given = weights(episodes) if callable(weights) else weights
        chances = episode_probabilities(episodes, None if given is None else np.asarray(given, np.float64))
        chosen = self._rng.choice(len(chances), size=batch_size, p=chances)
        first_rows, steps = self._episodes.first_rows[chosen], self._episodes.steps[chosen]
        rows = sequence_rows(first_rows, steps, length, padding, self._rng)
        ids = np.where(rows < 0, -1, rows * self.lanes + self._episodes.lanes[chosen][:, None])
        return sequences(self._store.read(ids.reshape(-1)), ids)

    def sample_stream(self, batch_size: int, length: int) -> Stream:
        """`batch_size` stretches of `length` records across episodes, their start uniform over the records.

        Raises `UsageError` when no lane holds `length` records.
        """
        tails = np.array([self._tail(lane) for lane in range(self.lanes)])
        starts = np.maximum(np.array(self._heads) - tails - length + 1, 0)
        if batch_size < 1 or length < 1 or not starts.any():
            held = ", ".join(str(head - tail) for head, tail in zip(self._heads, tails, strict=True))
            raise UsageError(
                f"cannot sample {batch_size} stretches of {length} records: the replay holds {held} (by lane)"
                "; collect more before training, or use shorter stretches"
            )
        draw = self._rng.integers(0, starts.sum(), size=batch_size)
        lane = np.searchsorted(np.cumsum(starts), draw, side="right")
        start = tails[lane] + draw - (np.cumsum(starts) - starts)[lane]
        ids = (start[:, None] + np.arange(length)) * self.lanes + lane[:, None]
        return stream(self._store.read(ids.reshape(-1)), ids)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Write rows that are not yet in the files, and return all else.

        Rows added later do not touch those counted here, so the state stays good whenever the process dies.
        """
        files = self._required_files()
        if self._memory is None:
            files.flush()
        else:
            for lane, head in enumerate(self._heads):
                self._append_rows(self._memory, files, lane, max(self._saved[lane], self._tail(lane)), head)
                self._saved[lane] = head
        self._tails_to_commit = [self._tail(lane) for lane in range(self.lanes)]
        return {
            "uid": files.uid,
            "heads": list(self._heads),
            "open": list(self._open),
            "episodes": self._episodes.state_dict(),
            "rng": self._rng.bit_generator.state,
        }

    def committed(self) -> None:
        """The latest `state_dict` is safely written: delete files that only earlier ones needed."""
        if self._tails_to_commit is not None:
            for lane, tail in enumerate(self._tails_to_commit):
                self._required_files().delete_before(lane, tail)
            self._tails_to_commit = None

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a state; rows written after it are as if they had never been.

        A smaller capacity drops the oldest episodes, a larger one is used from here on. Raises
        `CheckpointError` when the directory is of another replay, or rows are missing.
        """
        files = self._required_files()
        if state["uid"] != files.uid or len(state["heads"]) != self.lanes:
            raise CheckpointError(
                f"{files.directory} does not hold the rows of this checkpoint; another training wrote it"
            )
        self._rng.bit_generator.state = state["rng"]
        self._heads, self._open = list(state["heads"]), list(state["open"])
        self._saved = list(state["heads"])
        self._episodes.load_state_dict(state["episodes"])
        for lane, head in enumerate(self._heads):
            while head - self._tail(lane) > self.capacity // self.lanes:
                self._drop_oldest(lane)
            files.check(lane, self._tail(lane), head)
            if self._memory is not None:
                for first, stop in files.spans(self._tail(lane), head):
                    self._memory.fill(self._ids(lane, first, stop), files.records(lane, first, stop))

    # Rows

    @property
    def _store(self) -> RowStore:
        return self._required_files() if self._memory is None else self._memory

    def _required_files(self) -> RowFiles:
        if self._files is None:
            raise UsageError("a replay without a directory has no state to save; give it one")
        return self._files

    def _append_rows(self, memory: MemoryRows, files: RowFiles, lane: int, first: int, head: int) -> None:
        for start, stop in files.spans(first, head):
            files.append(lane, start, memory.records(self._ids(lane, start, stop), self._dtype))

    def _ids(self, lane: int, first: int, stop: int) -> NDArray[np.int64]:
        return np.arange(first, stop) * self.lanes + lane

    def _tail(self, lane: int) -> int:
        """The lane's oldest row that is still held."""
        oldest = self._episodes.oldest(lane)
        return self._heads[lane] if oldest is None else int(self._episodes.first_rows[oldest])

    def _make_room(self, lane: int) -> None:
        while self._heads[lane] - self._tail(lane) >= self.capacity // self.lanes:
            self._drop_oldest(lane)

    def _drop_oldest(self, lane: int) -> None:
        oldest = self._episodes.oldest(lane)
        if oldest is None or not self._episodes.is_finished(oldest):
            raise UsageError(
                f"an episode in progress has filled the replay's {self.capacity // self.lanes} places; "
                "raise the capacity above the longest episode, or limit the episode's length"
            )
        self._episodes.drop(oldest)

    def _write(
        self, lane: int, observation: dict[str, NDArray[Any]], action: NDArray[Any], reward: float, **flags: bool
    ) -> None:
        row = {**observation, "action": action, "reward": reward, **flags}
        self._store.write(self._heads[lane] * self.lanes + lane, row)
        self._heads[lane] += 1

    # What is refused

    def _check_lane(self, lane: int) -> None:
        if not 0 <= lane < self.lanes:
            raise UsageError(f"no lane {lane}: this replay has {self.lanes}")
