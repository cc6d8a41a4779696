"""Speed of IRIS at the paper's configuration: 6 actions, LPIPS off, forward and backward.

`python benchmarks/iris.py [--threads 2] [--precision bfloat16] [--device cpu] [--repeats 3]`

Beside each figure stands that of the published implementation, measured once on two cores of a machine like the one
this is developed on, in float32. Such figures drift with the machine, so a ratio is a rough one. Run it where nothing
else runs: two threads that wait for a third process make steps of many small passes ten times slower.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from stopwatch import Stopwatch

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.components import ActorCriticLearning, TokenizerLearning, WorldModelLearning
from wm_agent_iris.config import ComputeConfig, IRISConfig, TokenizerConfig, TrainingConfig
from wm_agent_iris.replay import IRISReplayBuffer

PUBLISHED_S = {
    "encode a frame": 0.029,
    "decode a frame": 0.054,
    "tokenizer step, 16 frames": 1.80,
    "world-model step, 4 x 20": 2.25,
    "actor-critic step, 4 x 20, burn-in 20": 10.8,
}


def config(precision: str) -> IRISConfig:
    paper = TrainingConfig()
    return IRISConfig(
        tokenizer=TokenizerConfig(perceptual_weight=0.0),
        compute=ComputeConfig.model_validate({"precision": precision}),
        training=paper.model_copy(
            update={
                "tokenizer": paper.tokenizer.model_copy(update={"batch_size": 16}),
                "world_model": paper.world_model.model_copy(update={"batch_size": 4}),
                "actor_critic": paper.actor_critic.model_copy(update={"batch_size": 4}),
            }
        ),
    )


def filled_replay(agent: IRISAgent, directory: Path) -> IRISReplayBuffer:
    """Three episodes of 40 steps of noise."""
    rng = np.random.default_rng(0)
    precision = agent.config.compute.precision
    replay = IRISReplayBuffer(
        agent.tokenizer, action_size=6, capacity=130, rng=rng, directory=directory, precision=precision
    )
    for _ in range(3):
        frames = rng.integers(0, 256, (41, 64, 64, 3), np.uint8)
        replay.begin_episode(frames[0])
        for t in range(40):
            replay.add_step(int(rng.integers(6)), 0.0, t == 39, False, frames[t + 1])
    return replay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    torch.manual_seed(0)

    chosen = config(arguments.precision)
    agent = IRISAgent.from_config(chosen, action_size=6, device=device)
    measure = Stopwatch(device, arguments.repeats)
    print(f"IRIS, paper configuration, {arguments.precision}, {device}, {arguments.threads} threads")
    print(f"{'':56}{'here':>10}{'published':>11}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as directory:
        replay = filled_replay(agent, Path(directory))
        for name, seconds in measured(agent, replay, measure):
            published = next((value for known, value in PUBLISHED_S.items() if name.startswith(known)), None)
            beside = "" if published is None else f"{published:>9.3f} s{published / seconds:>6.1f}x"
            print(f"{name:56}{seconds:>8.3f} s{beside}", flush=True)
    print(f"{'imagined frames a second, batch 8':56}{8 / seconds:>8.1f}")


def measured(agent: IRISAgent, replay: IRISReplayBuffer, measure: Stopwatch) -> Iterator[tuple[str, float]]:
    """What was done, and how many seconds it took."""
    training = agent.config.training
    frames = replay.tokenizer_batch(8)

    def coded(work: Callable[[], object]) -> object:
        with agent.precision():
            return work()

    tokens = agent.tokenizer.encode(frames)
    yield "encode a frame", measure(lambda: coded(lambda: agent.tokenizer.encode(frames))) / 8
    yield "decode a frame", measure(lambda: coded(lambda: agent.tokenizer.decode(tokens))) / 8
    yield "tokenizer step, 16 frames", measure(TokenizerLearning(agent, replay, training.tokenizer, None).update)
    world_model = WorldModelLearning(agent, replay, training.world_model).update
    policy = ActorCriticLearning(agent, replay, training.actor_critic).update
    forget = replay.tokenizer_changed
    yield "world-model step, 4 x 20, nothing cached", measure(world_model, forget)
    yield "actor-critic step, 4 x 20, burn-in 20, nothing cached", measure(policy, forget)
    fill_cache(replay)
    yield "world-model step, 4 x 20, cached", measure(world_model)
    yield "actor-critic step, 4 x 20, burn-in 20, cached", measure(policy)

    context, horizon = agent.context(frames), 5
    generator = torch.Generator(agent.device).manual_seed(0)
    dreamt = measure(lambda: agent.dream(context, horizon=horizon, generator=generator, with_last_frame=True))
    yield "a dreamt step, batch 8", dreamt / horizon


def fill_cache(replay: IRISReplayBuffer) -> None:
    """Until every stored frame has its tokens and its reconstruction."""
    for _ in range(30):
        replay.actor_critic_batch(16, 20)


if __name__ == "__main__":
    main()
