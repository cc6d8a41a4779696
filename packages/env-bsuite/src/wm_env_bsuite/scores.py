"""The scores of bsuite's experiments, in [0, 1], from the logs of a whole learning run.

They are those of Osband et al. 2020 (arXiv:1908.03568, appendix A) as bsuite 0.3.6 computes them, for complete logs.
bsuite's own scorer of the two `deep_sea` experiments fails with pandas 2 and later.

N is the experiment's number of episodes; regret is what a perfect agent would have earned more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wm_env_bsuite.experiments import DEEP_SEA_SIZES, EXPERIMENTS, REWARD_LEVELS, experiment_of
from wm_env_bsuite.log_files import Row

Log = Sequence[Row]
"""Rows of one id, by rising episode; the last of them is of episode N."""

Logs = Mapping[int, Log]
"""By the id's number in its experiment."""


def score(experiment: str, logs: Logs) -> float:
    """The score of an experiment. `ValueError` unless there is a log of N episodes for each of its ids."""
    facts = EXPERIMENTS[experiment]
    lacking = [index for index in range(facts.ids) if not is_complete(experiment, logs.get(index, ()))]
    if lacking:
        raise ValueError(f"{experiment} is incomplete: no log of {facts.episodes} episodes for {lacking}")
    return _score(experiment, {index: logs[index] for index in range(facts.ids)})


def score_of_id(bsuite_id: str, log: Log) -> float:
    """bsuite's formula on one id alone, which is not the score of its experiment. `ValueError` if it is incomplete."""
    experiment, index = experiment_of(bsuite_id)
    if not is_complete(experiment.name, log):
        raise ValueError(f"{bsuite_id} is incomplete: its log does not reach episode {experiment.episodes}")
    return _score(experiment.name, {index: log})


def _score(experiment: str, logs: Logs) -> float:
    last = EXPERIMENTS[experiment].episodes
    within = {index: [row for row in log if row["episode"] <= last] for index, log in logs.items()}
    for suffix in ("_noise", "_scale"):
        if experiment.endswith(suffix):
            return _over_levels(_SCORERS[experiment.removesuffix(suffix)], within, EXPERIMENTS[experiment].ids)
    return _SCORERS[experiment](within)


def is_complete(experiment: str, log: Log) -> bool:
    """Whether the log of an id reaches episode N."""
    return any(row["episode"] == EXPERIMENTS[experiment].episodes for row in log)


def _over_levels(scorer: Callable[[Logs], float], logs: Logs, ids: int) -> float:
    """Mean over the levels of noise or scale, halved with the mean less a standard deviation (over levels)."""
    each = ids // REWARD_LEVELS
    levels: dict[int, dict[int, Log]] = {}
    for index, log in logs.items():
        levels.setdefault(index // each, {})[index] = log
    scores = [scorer(level) for level in levels.values()]
    mean, std = float(np.mean(scores)), float(np.std(scores))
    return 0.5 * (_unit(mean) + _unit(mean - std))


def _bandit(logs: Logs) -> float:
    return _regret_score(_last(logs, "total_regret"), logs, baseline=0.5)


def _catch(logs: Logs) -> float:
    return _regret_score(_last(logs, "total_regret"), logs, baseline=1.6)


def _mnist(logs: Logs) -> float:
    """Half regret, half accuracy over the last tenth of the episodes."""
    accuracies = []
    for log in logs.values():
        before, last = log[-2], log[-1]
        regret = (last["total_regret"] - before["total_regret"]) / (last["episode"] - before["episode"])
        accuracies.append((1.0 - regret + 1.0) / 2)
    regret_score = _regret_score(_last(logs, "total_regret"), logs, baseline=1.8)
    return 0.5 * (regret_score + float(np.mean(accuracies)))


def _mountain_car(logs: Logs) -> float:
    """A perfect episode takes 100 steps, each of reward -1."""
    return _regret_score(-100.0 * _episodes(logs) - _last(logs, "raw_return"), logs, baseline=1000.0)


def _cartpole(logs: Logs) -> float:
    """Half regret, half the share of ids with one episode of a return above 500."""
    regret = 1000.0 * _episodes(logs) - _last(logs, "raw_return")
    solved = float(np.mean(_last(logs, "best_episode") > 500.0))
    return 0.5 * (_regret_score(regret, logs, baseline=1000.0) + solved)


def _cartpole_swingup(logs: Logs) -> float:
    """Each id: half regret, half whether one episode had a return above 100."""
    regret = 700.0 * _episodes(logs) - _last(logs, "total_return")
    solved = _last(logs, "best_episode") > 100.0
    per_id = np.clip((700.0 - regret / _episodes(logs)) / 700.0, 0.0, 1.0)
    return float(np.mean(0.5 * (per_id + solved)))


def _discounting_chain(logs: Logs) -> float:
    mean_return = float(np.mean(_last(logs, "total_return")) / _episodes(logs)[0])
    return _unit(1.0 - 10.0 * (1.1 - mean_return))


def _memory(logs: Logs) -> float:
    """The share of ids with less than three quarters of a random agent's mistakes, which are half of the episodes."""
    mistakes = _episodes(logs) - _last(logs, "total_perfect")
    return float(np.mean(mistakes / 0.5 / _episodes(logs) < 0.75))


def _umbrella(logs: Logs) -> float:
    """The share of ids with a regret below 0.5 an episode, half of a random agent's."""
    return float(np.mean(_last(logs, "total_regret") / _episodes(logs) < 0.5))


def _deep_sea(logs: Logs) -> float:
    return _solved_share(logs, bad_share=0.9, first_episode=1)


def _deep_sea_stochastic(logs: Logs) -> float:
    """Luck alone can make the first episodes good, so they do not count."""
    return _solved_share(logs, bad_share=0.8, first_episode=100)


def _solved_share(logs: Logs, bad_share: float, first_episode: int) -> float:
    """The share of sizes solved before episode 2^size + 100, which random actions take to find the treasure once.

    Solved is the first logged episode up to which less than `bad_share` of the episodes left the best path.
    """
    solved = 0
    for index, log in logs.items():
        episodes = (
            row["episode"]
            for row in log
            if row["episode"] >= first_episode and row["total_bad_episodes"] / row["episode"] < bad_share
        )
        solved += next(episodes, np.inf) < 2 ** DEEP_SEA_SIZES[index] + 100
    return solved / len(logs)


def _regret_score(regret: NDArray[np.float64], logs: Logs, baseline: float) -> float:
    """1 without regret, 0 at `baseline` regret an episode, on the mean over ids."""
    mean_regret = float(np.mean(regret)) / _episodes(logs)[0]
    return _unit((baseline - mean_regret) / baseline)


def _last(logs: Logs, column: str) -> NDArray[np.float64]:
    """A column after N episodes, shape `(ids,)`."""
    return np.array([log[-1][column] for log in logs.values()])


def _episodes(logs: Logs) -> NDArray[np.float64]:
    return _last(logs, "episode")


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


_SCORERS: dict[str, Callable[[Logs], float]] = {
    "bandit": _bandit,
    "mnist": _mnist,
    "catch": _catch,
    "mountain_car": _mountain_car,
    "cartpole": _cartpole,
    "cartpole_swingup": _cartpole_swingup,
    "deep_sea": _deep_sea,
    "deep_sea_stochastic": _deep_sea_stochastic,
    "umbrella_length": _umbrella,
    "umbrella_distract": _umbrella,
    "discounting_chain": _discounting_chain,
    "memory_len": _memory,
    "memory_size": _memory,
}
