"""The harness's steps per second over those of a bare loop on the same vector environment.

    python benchmarks/rollout.py [--game ALE/Pong-v5] [--num-envs 8] [--frames 4000] [--rounds 5]

Both loops play random actions in ale-py's vector environment with the same settings for the same number of steps;
rounds alternate, and the medians are compared. The harness's loop is the one `wmbench run` uses, records included.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from wm_core import BenchmarkRunner
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.plan import Request, plan
from wm_core.protocols import AdapterContext
from wm_core.random_policy import RandomPolicy
from wm_core.rollout import rollout
from wm_core.specs import EnvSpec


def bare_loop(spec: EnvSpec, lanes: int, steps: int) -> float:
    """Steps per second of `step` alone on the backend's own vector environment, random actions."""
    from wm_core import registry

    with closing(registry.load_backend(spec.backend).make_vec(spec, lanes)) as envs:
        rng = np.random.default_rng(0)
        envs.reset(seed=np.arange(lanes), options={"reset_mask": np.ones(lanes, bool)})
        count = int(envs.single_action_space.n)
        started = time.perf_counter()
        for _ in range(steps):
            envs.step(rng.integers(0, count, lanes))
        return steps * lanes / (time.perf_counter() - started)


def harness_loop(spec: EnvSpec, lanes: int) -> float:
    """Steps per second of `rollout`, one time-limited episode a lane."""
    with closing(make_vector(spec, lanes)) as envs:
        policy = RandomPolicy(
            AdapterContext(
                env=spec,
                observation_space=envs.single_observation_space,
                action_space=envs.single_action_space,
            )
        )
        started = time.perf_counter()
        played = list(rollout(policy, envs, 0, range(lanes)))
        return sum(episode.length for episode in played) / (time.perf_counter() - started)


def whole_run(game: str, lanes: int, frames: int) -> float:
    """Steps per second of `BenchmarkRunner`, with planning, records and reports."""
    with tempfile.TemporaryDirectory() as directory:
        spec = plan(
            Request(
                agent="random",
                games=[game],
                env_overrides={"max_frames": frames},
                episodes=lanes,
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
    parser.add_argument("--frames", type=int, default=4000, help="time limit of an episode in raw frames")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    game, lanes, frames = arguments.game, arguments.num_envs, arguments.frames
    spec = resolve_env(game, overrides={"max_frames": frames})
    assert isinstance(spec.frame_skip, int)
    steps = frames // spec.frame_skip
    bare, harness, whole = [], [], []
    for _ in range(arguments.rounds):
        bare.append(bare_loop(spec, lanes, steps))
        harness.append(harness_loop(spec, lanes))
        whole.append(whole_run(game, lanes, frames))
    print(f"{spec.id}, {lanes} environments, {spec.vectorization}, {steps} steps a lane, {arguments.rounds} rounds")
    for name, values in (("bare loop", bare), ("rollout", harness), ("whole run", whole)):
        ratio = statistics.median(value / base for value, base in zip(values, bare, strict=True))
        print(f"{name:10} {statistics.median(values):8.0f} steps/s   {ratio:.3f} of the bare loop")


if __name__ == "__main__":
    main()
