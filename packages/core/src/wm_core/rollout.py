"""Policy x vector environment -> episodes.

Lane i plays the episodes whose number is i modulo the number of lanes: a fixed share, so short episodes are
not over-represented among those that finish first. Each episode is reset with a seed of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wm_core.envs.vector import LaneEnvs
from wm_core.errors import AgentFailure
from wm_core.protocols import Acts
from wm_core.seeds import episode_seeds


@dataclass(frozen=True)
class PlayedEpisode:
    """One finished episode. `episode_return` is the plain sum of rewards, undiscounted."""

    episode: int
    env_seed: int
    episode_return: float
    length: int
    terminated: bool
    truncated: bool
    wall_time_s: float
    info: dict[str, Any]


def rollout(
    policy: Acts,
    envs: LaneEnvs,
    seed: int,
    episodes: Iterable[int],
    *,
    on_step: Callable[[NDArray[np.bool_]], None] | None = None,
) -> Iterator[PlayedEpisode]:
    """Play `episodes` (their numbers within the cell) and yield each as it ends.

    `on_step` hears, after every step and reset, which lanes are playing. Raises `AgentFailure` when the policy
    raises or returns something that is not a batch of actions, `EnvironmentFailure` when an environment fails.
    """
    lanes = envs.num_envs
    waiting = [deque[int]() for _ in range(lanes)]
    for episode in sorted(episodes):
        waiting[episode % lanes].append(episode)
    playing = np.array([bool(queue) for queue in waiting])
    if not playing.any():
        return

    check = action_check(envs.single_action_space, lanes)
    current = np.full(lanes, -1)
    env_seeds, policy_seeds = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
    returns, lengths = np.zeros(lanes), np.zeros(lanes, np.int64)
    started = np.zeros(lanes)

    def begin(mask: NDArray[np.bool_]) -> Any:
        for lane in np.flatnonzero(mask):
            current[lane] = waiting[lane].popleft()
            env_seeds[lane], policy_seeds[lane] = episode_seeds(seed, int(current[lane]))
        returns[mask], lengths[mask], started[mask] = 0.0, 0, time.perf_counter()
        observations, _ = envs.reset(seed=env_seeds[mask], options={"reset_mask": mask})
        with _blaming("reset"):
            policy.reset(mask, policy_seeds.copy())
        return observations

    observations = begin(playing.copy())
    while True:
        if on_step is not None:
            on_step(playing)
        with _blaming("act"):
            actions = policy.act(observations)
        observations, rewards, terminated, truncated, infos = envs.step(check(actions))
        returns += np.where(playing, rewards, 0.0)
        lengths += playing
        ended = (terminated | truncated) & playing
        if not ended.any():
            continue
        now = time.perf_counter()
        for lane in np.flatnonzero(ended):
            yield PlayedEpisode(
                episode=int(current[lane]),
                env_seed=int(env_seeds[lane]),
                episode_return=float(returns[lane]),
                length=int(lengths[lane]),
                terminated=bool(terminated[lane]),
                truncated=bool(truncated[lane]),
                wall_time_s=now - started[lane],
                info=infos[lane],
            )
        renewed = ended & np.array([bool(queue) for queue in waiting])
        playing = (playing & ~ended) | renewed
        if not playing.any():
            return
        if renewed.any():
            observations = begin(renewed)


def action_check(space: gymnasium.Space[Any], lanes: int) -> Callable[[Any], Any]:
    """A function that returns a batch of actions as the environments take it, or raises `AgentFailure`."""
    if isinstance(space, gymnasium.spaces.Discrete):
        first, last = int(space.start), int(space.start + space.n - 1)

        def check_discrete(actions: Any) -> NDArray[np.int64]:
            batch = np.asarray(actions)
            if batch.shape != (lanes,) or batch.dtype.kind not in "iu":
                raise AgentFailure(f"act() returned {_describe(actions, batch)}; expected {lanes} integers, one a lane")
            if batch.min() < first or batch.max() > last:
                raise AgentFailure(f"act() returned the action {_outside(batch, first, last)}; {space} has no such")
            return batch.astype(np.int64, copy=False)

        return check_discrete

    if isinstance(space, gymnasium.spaces.Box):
        tolerance = 1e-6

        def check_box(actions: Any) -> Any:
            batch = np.asarray(actions)
            if batch.shape != (lanes, *space.shape) or batch.dtype.kind not in "fiu":
                raise AgentFailure(
                    f"act() returned {_describe(actions, batch)}; expected shape {(lanes, *space.shape)}"
                )
            if not np.isfinite(batch).all():
                raise AgentFailure("act() returned NaN or infinity")
            if (batch < space.low - tolerance).any() or (batch > space.high + tolerance).any():
                raise AgentFailure(f"act() left the action space {space}; clip its actions to the bounds")
            return np.clip(batch, space.low, space.high).astype(space.dtype, copy=False)

        return check_box

    batched = gymnasium.vector.utils.batch_space(space, lanes)

    def check_other(actions: Any) -> Any:
        if not batched.contains(actions):
            raise AgentFailure(f"act() returned {type(actions).__name__}, which is not in {batched}")
        return actions

    return check_other


def _describe(actions: Any, batch: NDArray[Any]) -> str:
    return f"{type(actions).__name__} of shape {batch.shape} and dtype {batch.dtype}"


def _outside(batch: NDArray[Any], first: int, last: int) -> int:
    return int(batch[(batch < first) | (batch > last)][0])


class _blaming:
    """Turns whatever a policy's method raises into an `AgentFailure` that names the method."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not isinstance(error, AgentFailure | KeyboardInterrupt):
            raise AgentFailure(f"{self.method}() raised {type(error).__name__}: {error}") from error
