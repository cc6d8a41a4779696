"""A cell that measures learning: one whole training, logged by the environment that it happens in.

A backend that `RecordsLearning` has games whose score is of a training, not of a policy. The environment writes a log
while the agent learns; the cell's record names the log, and the suite's scorer reads it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from wm_core import registry
from wm_core.adapter import PolicyAdapter
from wm_core.context import agent_context
from wm_core.envs.steps import start_of, step_of
from wm_core.errors import AgentFailure, UsageError
from wm_core.protocols import (
    AdapterContext,
    AgentAdapter,
    LearningLog,
    RecordsLearning,
    Trainable,
    TrainProgress,
    TrainRequest,
)
from wm_core.rollout import action_check
from wm_core.seeds import episode_seeds
from wm_core.specs import Cell, EnvSpec, LearningRecord, RunSpec, TrainBudget
from wm_core.status import CellStatus, StatusFile
from wm_core.store import RunDirectory, cell_slug

_LOOK_EVERY_S = 1.0
_log = logging.getLogger("wmbench")


class LearningComplete(Exception):
    """Raised out of `TrainRequest.on_progress` when the whole learning run is logged: no more training is needed."""


def with_log(env: EnvSpec, directory: Path) -> EnvSpec:
    """`env` with the log of its learning run in `directory / "learning"`, where its backend keeps one.

    A specification of something else than what is scored is trained in without a log, and a warning says why.
    """
    backend = registry.load_backend(env.backend)
    if not isinstance(backend, RecordsLearning):
        return env
    try:
        return backend.recorded(env, directory.absolute() / "learning")
    except UsageError as error:
        _log.warning("this training has no log: %s", error)
        return env


def measure_learning(
    run: RunDirectory,
    spec: RunSpec,
    cell: Cell,
    make_adapter: Callable[[AdapterContext], AgentAdapter],
    status: StatusFile,
) -> int:
    """Let the cell's agent learn in the one environment that logs, and record the log; the exit code.

    An agent that trains does so until its budget ends (`spec.train`; without one, the steps that the experiment's
    episodes can take) or all episodes are logged. One that does not, or is measured untrained, acts for as many
    episodes. A cell that was stopped goes on where its training does; acting begins anew.

    The log of seed s lies in `learning/seed<s>`, one directory for all games. Raises `UsageError` for a game without
    such a score or an agent that cannot be measured so, `AgentFailure` for a training outside the environment.
    """
    env = spec.env(cell.game)
    backend = registry.load_backend(env.backend)
    if not isinstance(backend, RecordsLearning):
        raise UsageError(f"{env.id} has no score of a whole learning run; measure a policy in it with `wmbench run`")
    log = Path("learning") / f"seed{cell.seed}"
    directory = run.path / log
    recorded = backend.recorded(env, directory)
    adapter = make_adapter(agent_context(spec, recorded, cell.seed))
    learns = isinstance(adapter, Trainable) and not spec.untrained

    def logged() -> LearningLog:
        return backend.learning_log(env, directory)

    if isinstance(adapter, Trainable) and learns:
        _train(adapter, spec, run.path / "training" / cell_slug(cell), logged, status)
    elif isinstance(adapter, PolicyAdapter):
        begun = logged()
        for file in begun.files:
            file.unlink()
        with closing(backend.make(recorded)) as game:
            _act(adapter, game, cell.seed, begun.planned, status)
    else:
        raise UsageError(
            f"{cell.agent} neither trains nor acts (it is no PolicyAdapter), so its learning cannot be measured"
        )
    done = logged()
    if not done.files:
        raise AgentFailure(
            f"{cell.agent} did not play in the environment that logs: train in load_backend(spec.backend).make(spec), "
            "or in make_vector(spec, 1, recorded=True), with spec the context's env"
        )
    run.append(
        LearningRecord(
            cell=cell,
            log=log.as_posix(),
            sha256={str(file.relative_to(directory)): _digest(file) for file in done.files},
            episodes=done.episodes,
            steps=done.steps,
            learned=learns,
        )
    )
    status.write(CellStatus(phase="done", done=1.0, steps=done.steps))
    return 0


def _train(
    agent: Trainable, spec: RunSpec, directory: Path, logged: Callable[[], LearningLog], status: StatusFile
) -> None:
    """Train until the budget ends or a whole learning run is logged; what is then asked of the agent is to stop."""
    budget = spec.train or TrainBudget()
    if budget.steps is None and budget.epochs is None:
        budget = TrainBudget(steps=logged().most_steps)
    next_look, complete = 0.0, False

    def on_progress(progress: TrainProgress) -> None:
        nonlocal next_look, complete
        if time.monotonic() < next_look:
            return
        next_look = time.monotonic() + _LOOK_EVERY_S
        log = logged()
        share = max(log.episodes / log.planned, progress.done)
        status.write(CellStatus(phase="training", done=share, steps=progress.steps, message=progress.message))
        if log.complete:
            complete = True
            raise LearningComplete(f"{log.episodes} episodes are logged")

    directory.mkdir(parents=True, exist_ok=True)
    request = TrainRequest(budget=budget, directory=directory, overrides=dict(spec.settings), on_progress=on_progress)
    try:
        agent.train(request)
    except Exception:
        if not complete:  # an agent may well raise something of its own out of LearningComplete
            raise


def _act(policy: PolicyAdapter, env: gymnasium.Env[Any, Any], seed: int, episodes: int, status: StatusFile) -> None:
    """Play `episodes` episodes, each from the seeds that it has in every cell of that seed.

    One environment in a bare loop: `rollout` in a lane takes twice as long, and a suite has ten million such steps.
    """
    batched, single = _batches(env)
    check = action_check(env.action_space, 1)
    starts, steps = np.array([True]), 0
    for episode in range(episodes):
        env_seed, policy_seed = episode_seeds(seed, episode)
        observation, _ = start_of(env.reset(seed=env_seed))
        policy.reset(starts, np.array([policy_seed]))
        over = False
        while not over:
            action = single(check(policy.act(batched(observation))))
            observation, _, terminated, truncated, _ = step_of(env.step(action))
            steps += 1
            over = terminated or truncated
        status.write_now_and_then(partial(CellStatus, phase="training", done=episode / episodes, steps=steps))


def _batches(env: gymnasium.Env[Any, Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """From an observation to a batch of one, and from a batch of one action to the action."""
    observation_space, action_space = env.observation_space, env.action_space

    def concatenated(observation: Any) -> Any:
        empty: Any = create_empty_array(observation_space, 1)
        return concatenate(observation_space, [observation], empty)

    def iterated(actions: Any) -> Any:
        return next(iter(iterate(batch_space(action_space, 1), actions)))

    return (
        (lambda observation: observation[None]) if isinstance(observation_space, Box) else concatenated,
        (lambda actions: actions[0]) if isinstance(action_space, Discrete) else iterated,
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
