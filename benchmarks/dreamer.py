"""Speed of DreamerV3: a gradient step on 64x64 frames at two sizes, and the policy's steps.

`python benchmarks/dreamer.py [--sizes large small] [--repeats 3] [--plain]`

Processor seconds of one thread (user and system): on a machine that others use too, wall time says little, and even
these grow with its load, which is printed. Beside each figure stands that of the best-known PyTorch implementation,
measured earlier on such a machine, and with `--plain` that of the same mathematics written as it reads in the paper
(`dreamer_plain.py`), measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import torch
from dreamer_plain import PlainLearner
from torch.nn import functional as F

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.layouts import ActionLayout, Observation, ObservationLayout, StreamBatch
from wm_agent_dreamer.learner import DreamerLearner
from wm_agent_dreamer.presets import preset
from wm_agent_dreamer.rssm import RSSMState

ACTIONS = 6
SHAPES = {"large": (16, 50), "small": (16, 16)}
"""Batch size and length of the sequences."""
PUBLISHED_S = {
    "large": {"world model": 5.8, "behaviour": 9.5, "gradient step": 15.2},
    "small": {"world model": 0.36, "behaviour": 0.39, "gradient step": 0.75},
}
PUBLISHED_POLICY = 250.0
"""Steps a second at the small size, one environment."""


def config(size: str) -> DreamerConfig:
    """'large': deter, hidden and units 512, 32x32 latents, depth 32. 'small': 128, 8x8, 8."""
    large = preset("dreamerv3", "2023-s")
    if size == "large":
        return large
    return large.model_copy(
        update={
            "encoder": large.encoder.model_copy(update={"depth": 8}),
            "decoder": large.decoder.model_copy(update={"depth": 8}),
            "rssm": large.rssm.model_copy(update={"deter": 128, "hidden": 128, "stoch": 8, "classes": 8}),
            "heads": large.heads.model_copy(update={"units": 128}),
        }
    )


def new_agent(size: str) -> DreamerAgent:
    return DreamerAgent.from_config(
        config(size),
        observation=ObservationLayout(image=(3, 64, 64)),
        action=ActionLayout(kind="discrete", size=ACTIONS),
    ).train()


def noise_batch(size: str) -> StreamBatch:
    """Streams of noise, of which every second one opens an episode in its middle."""
    batch, steps = SHAPES[size]
    generator = torch.Generator().manual_seed(0)
    first = torch.zeros(batch, steps, dtype=torch.bool)
    first[::2, steps // 2] = True
    return StreamBatch(
        observation=Observation(image=torch.rand(batch, steps, 3, 64, 64, generator=generator)),
        action=F.one_hot(torch.randint(ACTIONS, (batch, steps), generator=generator), ACTIONS).float(),
        reward=torch.randn(batch, steps, generator=generator),
        is_first=first,
        is_terminal=first.roll(-1, 1),
    )


def processor_seconds(work: Callable[[], object], repeats: int) -> float:
    """The least of the repeats, after one that does not count."""
    times = []
    for _ in range(repeats + 1):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times[1:])


def gradient_step(size: str, repeats: int) -> dict[str, float]:
    """Processor seconds of the two updates."""
    learner, batch = DreamerLearner(new_agent(size)), noise_batch(size)
    generator = torch.Generator().manual_seed(0)
    _, states = learner.update_world_model(batch, generator)
    return with_sum(
        processor_seconds(lambda: learner.update_world_model(batch, generator), repeats),
        processor_seconds(lambda: learner.update_behaviour(states, batch, generator), repeats),
    )


def plain_gradient_step(size: str, repeats: int) -> dict[str, float]:
    """The same, written plainly."""
    learner, batch = PlainLearner(new_agent(size)), noise_batch(size)
    states: RSSMState = learner.update_world_model(batch)
    return with_sum(
        processor_seconds(lambda: learner.update_world_model(batch), repeats),
        processor_seconds(lambda: learner.update_behaviour(states), repeats),
    )


def with_sum(world_model: float, behaviour: float) -> dict[str, float]:
    return {"world model": world_model, "behaviour": behaviour, "gradient step": world_model + behaviour}


def policy_steps(size: str, lanes: int, repeats: int) -> float:
    """Policy steps a second of processor time; `lanes` environments take that many steps at once."""
    agent, steps = new_agent(size).eval(), 50
    generators = [torch.Generator().manual_seed(lane) for lane in range(lanes)]
    observation = Observation(image=torch.rand(lanes, 3, 64, 64))
    going_on = torch.zeros(lanes, dtype=torch.bool)

    def episode() -> None:
        state = agent.initial_state(lanes)
        for _ in range(steps):
            _, state = agent.policy_step(observation, state, is_first=going_on, generators=generators)

    return lanes * steps / processor_seconds(episode, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help="also measure the plain equivalent (slow)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for size in arguments.sizes:
        batch, steps = SHAPES[size]
        print(f"DreamerV3, {size}, {batch} x {steps} frames of 64x64, float32; load {os.getloadavg()[0]:.1f}")
        here = gradient_step(size, arguments.repeats)
        plain = plain_gradient_step(size, arguments.repeats) if arguments.plain else {}
        print(f"  {'processor seconds':22}{'here':>9}{'published':>12}{'ratio':>7}{'plain':>10}{'ratio':>7}")
        for name, seconds in here.items():
            published = PUBLISHED_S[size][name]
            row = f"  {name:22}{seconds:>9.3f}{published:>12.2f}{published / seconds:>6.1f}x"
            print(row + (f"{plain[name]:>10.3f}{plain[name] / seconds:>6.1f}x" if plain else ""), flush=True)
        for lanes in (1, 8):
            known = f"   (published: {PUBLISHED_POLICY:.0f})" if (size, lanes) == ("small", 1) else ""
            rate = policy_steps(size, lanes, arguments.repeats)
            print(f"  policy steps a second, {lanes} at once: {rate:.0f}{known}", flush=True)
        print(f"  load at the end {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
