"""An agent under test: how the checks build it, show it episodes, and give it weights."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from wm_core import registry
from wm_core.envs.vector import make_vector
from wm_core.plan import DEFAULT_GAME, Request, plan
from wm_core.protocols import Acts, AdapterContext, Trainable, TrainProgress, TrainRequest
from wm_core.specs import AgentManifest, EnvSpec, TrainBudget
from wm_core.testing.manifests import known

EPISODE_STEPS = (12, 5, 8)
"""Lengths of the episodes that are shown to a policy; they differ, so that lanes start at different times."""


@dataclass(frozen=True)
class ShownEpisode:
    """Observations of an episode that a random player went through, and the seed a policy is handed with it."""

    observations: tuple[Any, ...]
    seed: int


@dataclass(frozen=True)
class Training:
    """What a call of `train` left: its checkpoint and what it reported."""

    directory: Path
    checkpoint: Path
    progress: tuple[TrainProgress, ...]


class AgentUnderTest:
    """An agent, the environment it is checked in, and what the checks share; close it at the end."""

    def __init__(
        self,
        agent: AgentManifest | str,
        *,
        checkpoint: Path | str | None = None,
        game: str = DEFAULT_GAME,
        preset: str | None = None,
        train_steps: int = 100,
        train_overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self.manifest: AgentManifest = registry.manifest("agents", agent) if isinstance(agent, str) else agent
        self.game = game
        self.checkpoint = Path(checkpoint) if checkpoint is not None else _bundled(self.manifest, game)
        first = self.manifest.presets[0] if self.manifest.presets and self.checkpoint is None else None
        self.preset = preset or first
        self.budget = TrainBudget(steps=train_steps)
        self.train_overrides = dict(train_overrides or {})
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Delete what the checks wrote."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

    @property
    def directory(self) -> Path:
        """Room for the files of the checks."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="wm-conformance-")
        return Path(self._directory.name)

    @cached_property
    def adapter_class(self) -> Any:
        """The adapter's class; `PluginError` when it does not import."""
        return registry.load_class(self.manifest.adapter, f"the agent '{self.manifest.name}'")

    @cached_property
    def env(self) -> EnvSpec:
        """The environment, with the fields the agent and its checkpoint ask for."""
        with known(self.manifest):
            spec = plan(
                Request(
                    agent=self.manifest.name,
                    games=[self.game],
                    checkpoint=self.checkpoint,
                    untrained=self.manifest.needs_checkpoint and self.checkpoint is None,
                    preset=self.preset,
                    device="cpu",
                )
            )
        return spec.envs[0]

    @cached_property
    def spaces(self) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
        """The spaces of one observation and of one action."""
        with closing(make_vector(self.env, 1)) as envs:
            return envs.single_observation_space, envs.single_action_space

    def fresh(self, seed: int = 0, lanes: int = 1) -> Any:
        """A new adapter without weights of its own."""
        observation_space, action_space = self.spaces
        context = AdapterContext(
            env=self.env,
            observation_space=observation_space,
            action_space=action_space,
            seed=seed,
            preset=self.preset,
            num_envs=lanes,
        )
        return self.adapter_class(context)

    def ready(self, seed: int = 0, lanes: int = 1) -> Any:
        """A new adapter as it is measured: with its checkpoint, where there is one."""
        return self.loaded(self.checkpoint, seed, lanes)

    def loaded(self, checkpoint: Path | None, seed: int = 0, lanes: int = 1) -> Any:
        """A new adapter with the weights of `checkpoint`."""
        adapter = self.fresh(seed, lanes)
        if checkpoint is not None:
            adapter.load_checkpoint(checkpoint)
        return adapter

    @cached_property
    def training(self) -> Training:
        """A short training from the start."""
        return self.train(self.directory / "training")

    def train(self, directory: Path) -> Training:
        """Train within the budget, or go on with what `directory` holds."""
        adapter = self.fresh()
        assert isinstance(adapter, Trainable), "the manifest offers 'train', so the adapter must have train()"
        directory.mkdir(parents=True, exist_ok=True)
        progress: list[TrainProgress] = []
        request = TrainRequest(
            budget=self.budget, directory=directory, overrides=self.train_overrides, on_progress=progress.append
        )
        checkpoint = adapter.train(request)
        return Training(directory, checkpoint, tuple(progress))

    @property
    def weights(self) -> Path:
        """A whole checkpoint: the one given, or one trained here."""
        return self.checkpoint or self.training.checkpoint

    @cached_property
    def episodes(self) -> tuple[ShownEpisode, ...]:
        """Three short episodes of a random player."""
        _, action_space = self.spaces
        action_space.seed(0)
        with closing(make_vector(self.env, 1)) as envs:
            return tuple(_watch(envs, action_space, seed, steps) for seed, steps in enumerate(EPISODE_STEPS))

    def actions(self, policy: Acts, lanes: Sequence[Sequence[ShownEpisode]]) -> list[list[list[Any]]]:
        """What a policy does, by lane, episode and step, when each lane shows it its episodes one after the other.

        A lane that has shown all keeps its last observation, as an ended lane of a benchmark does.
        """
        timelines = [[(e, t) for e, shown in enumerate(lane) for t in range(len(shown.observations))] for lane in lanes]
        done: list[list[list[Any]]] = [[[] for _ in lane] for lane in lanes]
        for now in range(max(map(len, timelines))):
            at = [timeline[min(now, len(timeline) - 1)] for timeline in timelines]
            shown = [lane[e] for lane, (e, _) in zip(lanes, at, strict=True)]
            playing = [now < len(timeline) for timeline in timelines]
            starts = np.array([t == 0 and plays for (_, t), plays in zip(at, playing, strict=True)])
            if starts.any():
                policy.reset(starts, np.array([episode.seed for episode in shown], np.int64))
            acted = policy.act(self.batch([s.observations[t] for s, (_, t) in zip(shown, at, strict=True)]))
            for lane, action in enumerate(self.split_actions(acted, len(lanes))):
                if playing[lane]:
                    done[lane][at[lane][0]].append(action)
        return done

    def behaviour(self, adapter: Any) -> list[Any]:
        """What tells one set of weights from another: actions where it acts, returns where it only evaluates."""
        if isinstance(adapter, Acts):
            return self.actions(adapter, [self.episodes[:1]])[0][0]
        return list(adapter.evaluate(3)["episode_returns"])

    def batch(self, observations: Sequence[Any]) -> Any:
        """Observations of several lanes as one batch, newly allocated."""
        space = self.spaces[0]
        empty: Any = create_empty_array(space, len(observations))
        return concatenate(space, observations, empty)

    def split_actions(self, actions: Any, lanes: int) -> list[Any]:
        """A batch of actions as one for each lane."""
        space = self.spaces[1]
        if isinstance(space, gymnasium.spaces.Discrete | gymnasium.spaces.Box):
            return list(np.array(actions))
        return list(iterate(batch_space(space, lanes), actions))


def _watch(envs: Any, action_space: gymnasium.Space[Any], seed: int, steps: int) -> ShownEpisode:
    observation, _ = envs.reset(seed=np.array([seed]), options={"reset_mask": np.array([True])})
    seen = [_lone(envs.single_observation_space, observation)]
    while len(seen) < steps:
        empty: Any = create_empty_array(action_space, 1)
        observation, _, terminated, truncated, _ = envs.step(concatenate(action_space, [action_space.sample()], empty))
        seen.append(_lone(envs.single_observation_space, observation))
        if terminated[0] or truncated[0]:
            break
    return ShownEpisode(tuple(seen), seed=1000 + seed)


def _lone(space: gymnasium.Space[Any], batch: Any) -> Any:
    """A copy of the only observation in a batch of one."""
    empty: Any = create_empty_array(space, 1)
    copied = concatenate(space, list(iterate(batch_space(space, 1), batch)), empty)
    return next(iter(iterate(batch_space(space, 1), copied)))


def _bundled(manifest: AgentManifest, game: str) -> Path | None:
    """The checkpoint of the agent's demo, where the demo plays this game."""
    if manifest.demo is None or manifest.demo.checkpoint is None or manifest.demo.game != game:
        return None
    package = manifest.adapter.partition(":")[0].partition(".")[0]
    return Path(str(files(package))) / manifest.demo.checkpoint
