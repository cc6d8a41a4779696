"""Collect video from an environment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm_agent_genie.data.format import Manifest
from wm_agent_genie.data.writer import DatasetWriter
from wm_agent_genie.observations import GivenFrames, discrete_actions
from wm_core.envs.catch_env import CATCH_ID
from wm_core.envs.catch_expert import catch_action
from wm_core.envs.vector import make_vector
from wm_core.errors import UsageError
from wm_core.protocols import Acts
from wm_core.seeds import episode_seeds
from wm_core.specs import EnvSpec


class ScriptedExpert:
    """The optimal player of Catch that ships with the core (`wm_core.protocols.Acts`)."""

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """It remembers nothing."""

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane."""
        return np.array([catch_action(each) for each in observations])


def scripted_expert(game: str) -> ScriptedExpert:
    """The scripted expert of a game; `UsageError` where there is none."""
    if game != CATCH_ID:
        raise UsageError(
            f"{game} has no scripted expert ({CATCH_ID} has); use --policy AGENT -c CHECKPOINT, or import an expert's "
            "video with `wmbench dataset import`"
        )
    return ScriptedExpert()


def collect(
    spec: EnvSpec,
    policy: Acts,
    directory: Path,
    *,
    steps: int,
    source: str,
    seed: int = 0,
    random_share: float = 0.0,
    on_progress: Callable[[int], None] = lambda steps: None,
) -> Manifest:
    """Play episodes until `steps` environment steps are written; the last one may be cut off.

    With `random_share`, so many actions are uniformly random instead, and they are what is recorded.
    """
    if steps < 1 or not 0 <= random_share <= 1:
        raise UsageError(f"steps={steps}, random_share={random_share}; expected at least 1 step and a share in 0..1")
    name = source if random_share == 0 else f"{source}, {random_share:.0%} of its actions random"
    with closing(make_vector(spec, 1)) as lanes:
        frames_of = GivenFrames(lanes.single_observation_space)
        actions, first = discrete_actions(lanes.single_action_space)
        about: dict[str, Any] = {"source": name, "game": spec.id, "actions": actions, "seed": seed}
        writer = DatasetWriter(directory, env=spec.model_dump(mode="json"), **about)
        taken, episode = 0, 0
        while taken < steps:
            env_seed, policy_seed = episode_seeds(seed, episode)
            rng = np.random.default_rng((policy_seed, 1))
            observations, _ = lanes.reset(seed=np.array([env_seed]))
            policy.reset(np.array([True]), np.array([policy_seed]))
            frames = [frames_of(observations[0])]
            done: list[int] = []
            rewards: list[float] = []
            ended = False
            while not ended and taken + len(done) < steps:
                chosen = np.asarray(policy.act(observations))
                if rng.random() < random_share:
                    chosen = np.array([first + rng.integers(actions)])
                observations, reward, terminated, truncated, _ = lanes.step(chosen)
                frames.append(frames_of(observations[0]))
                done.append(int(chosen[0]) - first)
                rewards.append(float(reward[0]))
                ended = bool(terminated[0] or truncated[0])
            writer.add(np.stack(frames), np.array(done, np.int64), np.array(rewards, np.float32), ended=ended)
            taken, episode = taken + len(done), episode + 1
            on_progress(taken)
        return writer.finish()
