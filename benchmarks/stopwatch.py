"""The wall time of a piece of work, on any device."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


class Stopwatch:
    def __init__(self, device: torch.device, repeats: int) -> None:
        self.device, self.repeats = device, repeats

    def __call__(self, work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
        """Least wall time of the repeats, after one that does not count, in seconds."""
        times = []
        for _ in range(self.repeats + 1):
            before()
            self._wait()
            started = time.perf_counter()
            work()
            self._wait()
            times.append(time.perf_counter() - started)
        return min(times[1:])

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
