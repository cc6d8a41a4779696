"""CPU-seconds of the statistics.

    python benchmarks/metrics.py [--rounds 5]

All four aggregates with intervals: 50,000 resamples of 26 games x 5 runs. Where rliable is installed (1.2.0 needs
`pandas<3`) it does the same on this machine, and the ratio is printed. Elsewhere its 12.4 CPU-seconds are quoted from
another machine, and no ratio is given.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from wm_core.metrics import aggregate, performance_profile, probability_of_improvement

RESAMPLES = 50_000
RLIABLE_QUOTED_CPU_S = 12.4


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    """The least of several rounds, in seconds of all threads of this process."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def rliable_aggregates(scores: NDArray[np.float64]) -> Callable[[], object]:
    """The call by which rliable computes the four aggregates and their intervals; importing it is not timed."""
    library: Any = importlib.import_module("rliable.library")
    metrics: Any = importlib.import_module("rliable.metrics")
    names = ("aggregate_mean", "aggregate_median", "aggregate_iqm", "aggregate_optimality_gap")
    statistics = [getattr(metrics, name) for name in names]

    def four(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([statistic(matrix) for statistic in statistics])

    return lambda: library.get_interval_estimates({"scores": scores}, four, reps=RESAMPLES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    few, many = rng.lognormal(size=(5, 26)), rng.lognormal(size=(100, 26))
    taus = np.linspace(0, 8, 81)
    ours = cpu_seconds(lambda: aggregate(few, num_samples=RESAMPLES), rounds)
    print(f"aggregates, 26 games x 5 runs, {RESAMPLES:,} resamples     {ours:7.3f} CPU-s")
    if importlib.util.find_spec("rliable"):
        theirs = cpu_seconds(rliable_aggregates(few), rounds)
        print(f"  the same by rliable                               {theirs:7.3f} CPU-s, {theirs / ours:.0f} times")
    else:
        print(f"  the same by rliable 1.2.0, on another machine     {RLIABLE_QUOTED_CPU_S:7.3f} CPU-s")
    for name, work in (
        ("aggregates, 26 games x 100 runs, 2,000 resamples", lambda: aggregate(many)),
        ("probability of improvement, 100 against 5 runs", lambda: probability_of_improvement(many, few)),
        ("performance profile, 81 thresholds, 5 runs", lambda: performance_profile(few, taus)),
    ):
        print(f"{name:51} {cpu_seconds(work, rounds):7.3f} CPU-s")


if __name__ == "__main__":
    main()
