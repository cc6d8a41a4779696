"""Train one agent in one environment, outside a benchmark: what `wmbench train` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wm_core import registry
from wm_core.context import agent_context
from wm_core.errors import UsageError
from wm_core.learning import with_log
from wm_core.plan import Request, plan
from wm_core.protocols import Trainable, TrainProgress, TrainRequest
from wm_core.specs import TrainBudget


def train(
    agent: str,
    game: str,
    *,
    budget: TrainBudget,
    directory: Path,
    seed: int = 0,
    preset: str | None = None,
    device: str | None = None,
    env_backend: str | None = None,
    protocol: str | None = None,
    env_overrides: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    num_envs: int = 1,
    on_progress: Callable[[TrainProgress], None] = lambda progress: None,
    on_log: Callable[[Path], None] = lambda log: None,
) -> Path:
    """Train, or go on with the training in `directory`; the checkpoint's path.

    In an environment that is scored by learning runs, the log of this one lies in `directory / "learning"`, which
    `on_log` is told before the training begins. Raises `UsageError` when the agent cannot be trained, and whatever the
    agent's training raises.
    """
    spec = plan(
        Request(
            agent=agent,
            games=[game],
            env_backend=env_backend,
            protocol=protocol,
            env_overrides=env_overrides or {},
            seeds=[seed],
            episodes=max(1, num_envs),
            preset=preset,
            train=budget,
            device=device,
            num_envs=num_envs,
        )
    )
    env = with_log(spec.envs[0], directory)
    adapter = registry.load_adapter(agent)(agent_context(spec, env, seed))
    if not isinstance(adapter, Trainable):
        raise UsageError(f"{agent} offers training, but its adapter has no train(); report this to its authors")
    directory.mkdir(parents=True, exist_ok=True)
    if env is not spec.envs[0]:
        on_log(directory / "learning")
    return adapter.train(
        TrainRequest(budget=budget, directory=directory, overrides=dict(settings or {}), on_progress=on_progress)
    )
