"""Speed of Genie's dreams: the key/value cache against passes over all frames, and frames a second.

`python benchmarks/genie.py [--threads 1] [--device cpu] [--repeats 3] [--preset tiny]`

The ratio is of two times in one run, for one frame: d 256, 6 layers, 64 tokens, 16 frames, 25 MaskGIT steps. Without
the cache each step computes 16 frames. With it each step computes one; before them come the past frames not yet
read: one while the memory of 16 fills, all 15 once it slides. All three give the same tokens.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from stopwatch import Stopwatch

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.config import DynamicsConfig, STTransformerConfig
from wm_agent_genie.dynamics import DynamicsModel
from wm_agent_genie.maskgit import generate_frame
from wm_agent_genie.presets import preset


def cache_ratios(device: torch.device, measure: Stopwatch) -> None:
    transformer = STTransformerConfig(layers=6, embedding_dim=256, heads=8, qk_norm=True)
    torch.manual_seed(0)
    dynamics = DynamicsModel(
        DynamicsConfig(transformer=transformer, steps=25, temperature=1.0),
        vocabulary_size=1024,
        tokens_per_frame=64,
        action_dim=32,
        frames=16,
    )
    dynamics.to(device).eval()
    past = torch.randint(1024, (1, 15, 64), device=device)
    actions = torch.randn(1, 15, 32, device=device)
    filled = dynamics.new_cache(1)

    def frame(cached: bool) -> torch.Tensor:
        generator = torch.Generator(device).manual_seed(0)
        return generate_frame(dynamics, past, actions, filled if cached else None, generator=generator)

    def read_but(frames: int) -> Callable[[], object]:
        """The cache has read all of the past but so many frames."""
        read = past.shape[1] - frames

        def prepare() -> None:
            dynamics.read(filled, past[:, :read], actions[:, : read - 1]) if read else filled.temporal.keep(0)

        return prepare

    whole = measure(lambda: frame(False))
    growing = measure(lambda: frame(True), read_but(1))
    sliding = measure(lambda: frame(True), read_but(15))
    same = bool((frame(True) == frame(False)).all())
    print(f"{'a frame, no cache':44}{whole:>9.3f} s")
    print(f"{'a frame, cache, memory filling':44}{growing:>9.3f} s{whole / growing:>7.1f}x")
    print(f"{'a frame, cache, memory sliding':44}{sliding:>9.3f} s{whole / sliding:>7.1f}x")
    print(f"{'tokens with and without cache':44}{'the same' if same else 'DIFFERENT':>11}")


def dream_speed(name: str, device: torch.device, frames: int) -> None:
    config = preset(name)
    agent = GenieAgent.from_config(config, device=device)
    session = agent.dream(np.zeros((*config.image_size, config.channels), np.uint8))
    times = []
    for step in range(frames):
        started = time.perf_counter()
        session.step(step % session.actions)
        times.append(time.perf_counter() - started)
    label = f"{name}: a frame of play, median of {frames} (slowest)"
    median = sorted(times)[frames // 2]
    print(f"{label:44}{median:>9.3f} s  ({max(times):.3f} s)   {1 / median:.1f} frames a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--preset", default="tiny")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    print(f"Genie, float32, {device}, {arguments.threads} threads")
    cache_ratios(device, Stopwatch(device, arguments.repeats))
    dream_speed(arguments.preset, device, frames=32)


if __name__ == "__main__":
    main()
