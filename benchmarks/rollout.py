"""The harness's steps per second over those of a bare loop on the same vector environment.

    python benchmarks/rollout.py [--game ALE/Pong-v5] [--num-envs 8] [--frames 108000] [--rounds 3]

All play random actions in ale-py's vector environment with the same settings, two whole episodes a lane, resets
included.

- `bare`: `step`, and `reset` with a seed where a lane has ended. The same work, and nothing else.
- `autoreset`: `step` alone; episodes are not seeded one by one. ale-py loads the ROM anew for each seeded reset, about
  80 ms of a core, which is what an episode that can be played again costs.
- `rollout`: the core's loop.  `whole run`: `BenchmarkRunner`, with making environments, records and reports.

Rounds alternate; the medians of the ratios are printed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from wm_core import BenchmarkRunner, registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.plan import Request, plan
from wm_core.protocols import AdapterContext
from wm_core.random_policy import RandomPolicy
from wm_core.rollout import rollout
from wm_core.seeds import episode_seeds
from wm_core.specs import EnvSpec

EPISODES_A_LANE = 2
AUTORESET_STEPS = 2000


def bare_loop(spec: EnvSpec, lanes: int, rounds: int) -> float:
    """Steps per second of `step` and seeded `reset`: the very episodes that the core plays, `rounds` a lane."""
    with closing(registry.load_backend(spec.backend).make_vec(spec, lanes)) as envs:
        policy = random_policy(spec, envs)
        played, playing, steps = np.zeros(lanes, np.int64), np.ones(lanes, bool), 0
        starting = playing.copy()
        started = time.perf_counter()
        while playing.any():
            if starting.any():
                chosen = [episode_seeds(0, int(played[i] * lanes + i)) for i in np.flatnonzero(starting)]
                seeds = np.zeros(lanes, np.int64)
                seeds[starting] = [seed.policy for seed in chosen]
                envs.reset(seed=np.array([seed.env for seed in chosen]), options={"reset_mask": starting})
                policy.reset(starting, seeds)
            _, _, terminated, truncated, _ = envs.step(policy.act(None))
            steps += int(playing.sum())
            ended = (terminated | truncated) & playing
            played += ended
            playing &= played < rounds
            starting = ended & playing
        return steps / (time.perf_counter() - started)


def autoreset_loop(spec: EnvSpec, lanes: int, steps: int) -> float:
    """Steps per second of `step` alone."""
    with closing(registry.load_backend(spec.backend).make_vec(spec, lanes)) as envs:
        rng = np.random.default_rng(0)
        count = int(envs.single_action_space.n)
        started = time.perf_counter()
        envs.reset(seed=np.arange(lanes), options={"reset_mask": np.ones(lanes, bool)})
        for _ in range(steps):
            envs.step(rng.integers(0, count, lanes))
        return steps * lanes / (time.perf_counter() - started)


def harness_loop(spec: EnvSpec, lanes: int, episodes: int) -> float:
    """Steps per second of `rollout`, resets included."""
    with closing(make_vector(spec, lanes)) as envs:
        policy = random_policy(spec, envs)
        started = time.perf_counter()
        played = list(rollout(policy, envs, 0, range(episodes)))
        return sum(episode.length for episode in played) / (time.perf_counter() - started)


def random_policy(spec: EnvSpec, envs: Any) -> RandomPolicy:
    """The built-in random agent for these environments."""
    spaces = {"observation_space": envs.single_observation_space, "action_space": envs.single_action_space}
    return RandomPolicy(AdapterContext(env=spec, **spaces))


def whole_run(game: str, lanes: int, frames: int, episodes: int) -> float:
    """Steps per second of `BenchmarkRunner`, with making environments, records and reports."""
    with tempfile.TemporaryDirectory() as directory:
        spec = plan(
            Request(
                agent="random",
                games=[game],
                env_overrides={"max_frames": frames},
                episodes=episodes,
                num_envs=lanes,
            )
        )
        started = time.perf_counter()
        report = BenchmarkRunner(agent="random", out_dir=Path(directory)).execute(spec)
        lengths = report.games[0].seeds[0].episode_lengths
        return sum(length or 0 for length in lengths) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="ALE/Pong-v5")
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--frames", type=int, default=108_000, help="time limit of an episode in raw frames")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    game, lanes, frames = arguments.game, arguments.num_envs, arguments.frames
    spec = resolve_env(game, overrides={"max_frames": frames})
    speeds: dict[str, list[float]] = {"bare": [], "autoreset": [], "rollout": [], "whole run": []}
    for _ in range(arguments.rounds):
        speeds["bare"].append(bare_loop(spec, lanes, EPISODES_A_LANE))
        speeds["autoreset"].append(autoreset_loop(spec, lanes, AUTORESET_STEPS))
        speeds["rollout"].append(harness_loop(spec, lanes, EPISODES_A_LANE * lanes))
        speeds["whole run"].append(whole_run(game, lanes, frames, EPISODES_A_LANE * lanes))
    print(f"{spec.id}, {lanes} environments, {spec.vectorization}, {arguments.rounds} rounds")
    for name, values in speeds.items():
        of_bare, of_autoreset = (
            statistics.median(value / base for value, base in zip(values, speeds[other], strict=True))
            for other in ("bare", "autoreset")
        )
        speed = statistics.median(values)
        print(f"{name:10} {speed:7.0f} steps/s  {of_bare:.3f} of bare  {of_autoreset:.3f} of autoreset")


if __name__ == "__main__":
    main()
