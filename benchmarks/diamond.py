"""Speed of DIAMOND at the paper's configuration: 6 actions.

`python benchmarks/diamond.py [--threads 1] [--precision bfloat16] [--device cpu] [--repeats 3] [--compile]`

Figures are processor seconds on a CPU, which other processes distort least (run it with one thread where there are
any), and wall seconds elsewhere. Each stands beside two others:

- `plain`: the same networks and weights computed the straightforward way, in float32 and in turns with this package's:
  torch's own convolutions in their default layout, upsampling and convolution one after the other, each adaptive
  norm's linear layer by itself, all dreams of a batch together. This ratio is of one run.
- `published`: what the published implementation took, measured once on a machine like the one this is developed on,
  one thread, float32. Such figures drift with the machine, so this ratio is a rough one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_diamond import denoiser as denoiser_module
from wm_agent_diamond import rew_end_model
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config import ComputeConfig, DiamondConfig
from wm_agent_diamond.dream import Start
from wm_agent_diamond.networks import convolutions, group_norm, inner_model
from wm_agent_diamond.networks.group_norm import AdaGroupNorm

Work = Callable[[DiamondAgent], object]

PUBLISHED_S = {
    "an imagined frame, batch 1": 0.378,
    "an imagined frame, batch 8": 1 / 2.57,
    "denoiser step, batch 4, two predictions": 2.34,
    "reward/end step, batch 4, 19 frames": 3.41,
}


@contextmanager
def plainly() -> Iterator[None]:
    """What this package does to be fast, other than its options, undone."""

    def each_by_itself(norms: list[AdaGroupNorm], condition: Tensor) -> tuple[Tensor, ...]:
        return tuple(norm.linear(condition) for norm in norms)

    def modulated(norm: AdaGroupNorm, x: Tensor, modulation: Tensor) -> Tensor:
        scale, shift = modulation[:, :, None, None].chunk(2, dim=1)
        return F.group_norm(x, norm.groups, eps=group_norm.EPSILON) * (1 + scale) + shift

    with ExitStack() as undone:
        for module in (inner_model, rew_end_model):
            undone.enter_context(patch.object(module, "modulations", each_by_itself))
        undone.enter_context(patch.object(AdaGroupNorm, "forward", modulated))
        undone.enter_context(patch.object(convolutions, "suits_onednn", lambda x: False))
        undone.enter_context(patch.object(denoiser_module, "lanes_together", lambda config, obs: len(obs)))
        yield


class Clock:
    def __init__(self, device: torch.device, repeats: int) -> None:
        self.device, self.repeats = device, repeats
        self._now = time.perf_counter if device.type == "cuda" else time.process_time

    def compare(self, work: Work, fast: DiamondAgent, plain: DiamondAgent) -> tuple[float, float]:
        """Least seconds of the repeats, which take turns, after one that does not count."""
        best = [float("inf"), float("inf")]
        for i in range(self.repeats + 1):
            own = self._timed(work, fast)
            with plainly():
                other = self._timed(work, plain)
            if i:
                best = [min(best[0], own), min(best[1], other)]
        return best[0], best[1]

    def _timed(self, work: Work, agent: DiamondAgent) -> float:
        self._wait()
        started = self._now()
        with agent.precision():
            work(agent)
        self._wait()
        return self._now() - started

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def works(device: torch.device) -> Iterator[tuple[str, Work, int]]:
    """What is done, how, and how many of it at once."""
    generator = torch.Generator(device).manual_seed(0)

    def frames(batch: int, length: int) -> Tensor:
        return torch.rand(batch, length, 3, 64, 64, generator=generator, device=device) * 2 - 1

    def actions(batch: int, length: int) -> Tensor:
        return torch.randint(6, (batch, length), generator=generator, device=device)

    def imagine(batch: int) -> Work:
        start, horizon = (frames(batch, 4), actions(batch, 4)), 2 if batch == 1 else 1
        return lambda agent: agent.dream(*start, None, horizon, generator)

    def denoise(agent: DiamondAgent) -> None:
        agent.zero_grad()
        mask = torch.ones(4, 6, dtype=torch.bool, device=device)
        agent.denoiser.loss(frames(4, 6), actions(4, 6), mask, generator)[0].backward()

    def classify(agent: DiamondAgent) -> None:
        agent.zero_grad()
        nothing = torch.zeros(4, 18, device=device)
        mask = torch.ones(4, 18, dtype=torch.bool, device=device)
        agent.rew_end_model.loss(frames(4, 19), actions(4, 18), nothing, nothing.bool(), mask)[0].backward()

    def burn_in(agent: DiamondAgent) -> None:
        with torch.no_grad():
            agent.world_model.begin(Start(frames(32, 4), actions(32, 4)))

    yield "an imagined frame, batch 1", imagine(1), 2
    yield "an imagined frame, batch 8", imagine(8), 8
    yield "denoiser step, batch 4, two predictions", denoise, 1
    yield "reward/end step, batch 4, 19 frames", classify, 1
    yield "burn-in of the reward/end model, 32 dreams", burn_in, 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    compute = ComputeConfig.model_validate({"precision": arguments.precision, "compile": arguments.compile})
    plain_compute = ComputeConfig(channels_last=False, fold_upsampling=False)
    fast, plain = (agent_of(each, device) for each in (compute, plain_compute))
    clock = Clock(device, arguments.repeats)
    threads = f"{arguments.threads} thread{'s' * (arguments.threads > 1)}"
    print(f"DIAMOND, paper configuration, {arguments.precision}, {device}, {threads}, load {os.getloadavg()[0]:.1f}")
    print(f"{'':44}{'here':>9}{'plain':>9}{'ratio':>7}{'published':>11}{'ratio':>7}")
    for name, work, count in works(device):
        here, straightforward = (seconds / count for seconds in clock.compare(work, fast, plain))
        published = PUBLISHED_S.get(name)
        beside = "" if published is None else f"{published:>9.3f} s{published / here:>6.2f}x"
        ratio = straightforward / here
        print(f"{name:44}{here:>7.3f} s{straightforward:>7.3f} s{ratio:>6.2f}x{beside}", flush=True)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


def agent_of(compute: ComputeConfig, device: torch.device) -> DiamondAgent:
    return DiamondAgent.from_config(DiamondConfig(compute=compute), action_size=6, device=device)


if __name__ == "__main__":
    main()
