"""Logs of learning runs, made up: whole files in the right form, with agents from hopeless to perfect."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wm_env_bsuite.experiments import EXPERIMENTS, experiment_of
from wm_env_bsuite.log_files import Row, is_logged, log_file, write_log

PER_EPISODE = {
    "bandit": {"total_regret": (0.0, 0.6)},
    "mnist": {"total_regret": (0.0, 2.0)},
    "catch": {"total_regret": (0.0, 1.8)},
    "mountain_car": {"raw_return": (-1200.0, -80.0)},
    "cartpole": {"raw_return": (0.0, 1000.0), "best_episode": (0.0, 1.0)},
    "cartpole_swingup": {"raw_return": (-100.0, 800.0), "total_upright": (0.0, 800.0), "best_episode": (0.0, 0.2)},
    "deep_sea": {"total_bad_episodes": (0.6, 1.0), "denoised_return": (0.0, 1.0)},
    "discounting_chain": {},
    "memory": {"total_perfect": (0.4, 1.0), "total_regret": (0.0, 1.2)},
    "umbrella": {"total_regret": (0.0, 1.0)},
}
RETURNS = {"cartpole_swingup": (-100.0, 800.0), "discounting_chain": (0.95, 1.12)}


def made_log(bsuite_id: str, rng: np.random.Generator, episodes: int | None = None) -> list[Row]:
    """Rows whose totals grow at rates that the agent improves over time."""
    experiment, _ = experiment_of(bsuite_id)
    base = max((name for name in PER_EPISODE if bsuite_id.startswith(name)), key=len)
    logged = [n for n in range(1, (episodes or experiment.episodes) + 1) if is_logged(n)]
    gaps = np.diff([0, *logged])

    def total(low: float, high: float) -> np.ndarray:
        start, end = rng.uniform(low, high, 2)
        return np.cumsum(gaps * np.linspace(start, end, len(gaps)))

    columns = {"total_return": total(*RETURNS.get(base, (-1.0, 1.0)))}
    columns |= {name: total(*bounds) for name, bounds in PER_EPISODE[base].items()}
    if "best_episode" in columns:
        columns["best_episode"] = np.maximum.accumulate(rng.uniform(0, 1000, len(logged)) * rng.uniform(0, 1))
    return [
        {
            "steps": 9 * episode,
            "episode": episode,
            "total_return": columns["total_return"][place],
            "episode_len": 9,
            "episode_return": 0.5,
            **{name: values[place] for name, values in columns.items() if name != "total_return"},
        }
        for place, episode in enumerate(logged)
    ]


def write_experiment(directory: Path, experiment: str, seed: int) -> dict[int, list[Row]]:
    """Logs of all its ids, written, by their numbers."""
    rng = np.random.default_rng(seed)
    logs = {}
    for index, bsuite_id in enumerate(EXPERIMENTS[experiment].bsuite_ids()):
        logs[index] = made_log(bsuite_id, rng)
        write_log(log_file(directory, bsuite_id), logs[index])
    return logs
