"""bsuite's 23 experiments as data (Osband et al. 2020, arXiv:1908.03568): ids, episodes, lengths, tags.

Data only, so that listings and plans import neither bsuite nor numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

_SPACED = (*range(1, 11), 12, 14, 17, 20, 25, *range(30, 101, 10))
"""The lengths and sizes that the memory and umbrella experiments sweep over."""

REWARD_LEVELS = 5
"""Scales of noise or of reward in the `_noise` and `_scale` experiments, each with the same number of ids."""

SEPARATOR = "/"


@dataclass(frozen=True)
class Experiment:
    """One experiment: `name/0` to `name/(ids - 1)` are its environments, each played for `episodes` episodes."""

    name: str
    ids: int
    episodes: int
    tags: tuple[str, ...]
    """What it tests, the foremost first."""
    longest: int | tuple[int, ...]
    """The longest episode in agent steps, of all ids or of each."""

    def bsuite_ids(self) -> tuple[str, ...]:
        """All its ids in order."""
        return tuple(f"{self.name}{SEPARATOR}{index}" for index in range(self.ids))

    def longest_episode(self, index: int) -> int:
        """Agent steps that an episode of the environment of that number can take."""
        return self.longest if isinstance(self.longest, int) else self.longest[index]


_DEEP_SEA_SIZES = tuple(range(10, 51, 2))

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment("bandit", 20, 10_000, ("basic",), 1),
        Experiment("mnist", 20, 10_000, ("basic", "generalization"), 1),
        Experiment("catch", 20, 10_000, ("basic", "credit_assignment"), 9),
        Experiment("mountain_car", 20, 1_000, ("basic", "generalization"), 1_000),
        Experiment("cartpole", 20, 1_000, ("basic", "credit_assignment", "generalization"), 1_001),
        Experiment("bandit_noise", 20, 10_000, ("noise",), 1),
        Experiment("mnist_noise", 20, 10_000, ("noise", "generalization"), 1),
        Experiment("catch_noise", 20, 10_000, ("noise", "credit_assignment"), 9),
        Experiment("mountain_car_noise", 20, 1_000, ("noise", "generalization"), 1_000),
        Experiment("cartpole_noise", 20, 1_000, ("noise", "generalization"), 1_001),
        Experiment("bandit_scale", 20, 10_000, ("scale",), 1),
        Experiment("mnist_scale", 20, 10_000, ("scale", "generalization"), 1),
        Experiment("catch_scale", 20, 10_000, ("scale", "credit_assignment"), 9),
        Experiment("mountain_car_scale", 20, 1_000, ("scale", "generalization"), 1_000),
        Experiment("cartpole_scale", 20, 1_000, ("scale", "generalization"), 1_001),
        Experiment("deep_sea", 21, 10_000, ("exploration",), _DEEP_SEA_SIZES),
        Experiment("deep_sea_stochastic", 21, 10_000, ("exploration", "noise"), _DEEP_SEA_SIZES),
        Experiment("cartpole_swingup", 20, 1_000, ("exploration", "generalization"), 1_001),
        Experiment("umbrella_length", 23, 10_000, ("credit_assignment", "noise"), _SPACED),
        Experiment("umbrella_distract", 23, 10_000, ("credit_assignment", "noise"), 20),
        Experiment("discounting_chain", 20, 1_000, ("credit_assignment",), 100),
        Experiment("memory_len", 23, 10_000, ("memory",), tuple(length + 1 for length in _SPACED)),
        Experiment("memory_size", 17, 10_000, ("memory",), 3),
    )
}
"""By name, in the order of the paper's bar plot."""

TAGS = ("basic", "noise", "scale", "exploration", "credit_assignment", "memory", "generalization")

DEEP_SEA_SIZES: dict[int, int] = dict(enumerate(_DEEP_SEA_SIZES))
"""Rows and columns of `deep_sea/index`."""

WITHOUT_CHANCE = frozenset({"bandit", "deep_sea", "discounting_chain"})
"""Experiments in which nothing is drawn after the id's own mapping of actions: a seed changes nothing."""

SEEDED_BY_CONSTRUCTOR = frozenset({"deep_sea_stochastic"})
"""Experiments with chance whose loader takes no seed, though the environment's constructor does."""

IDS: tuple[str, ...] = tuple(bsuite_id for experiment in EXPERIMENTS.values() for bsuite_id in experiment.bsuite_ids())
"""All 468 ids."""


def experiment_of(bsuite_id: str) -> tuple[Experiment, int]:
    """The experiment of an id and its number in it; `KeyError` for one that is none."""
    name, _, index = bsuite_id.partition(SEPARATOR)
    experiment = EXPERIMENTS.get(name)
    if experiment is None or bsuite_id not in _KNOWN:
        raise KeyError(bsuite_id)
    return experiment, int(index)


_KNOWN = frozenset(IDS)
