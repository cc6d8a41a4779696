"""Environments out of bsuite, seeded."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from bsuite import bsuite, sweep
from bsuite.environments.deep_sea import DeepSea
from bsuite.utils import datasets

from wm_core.errors import EnvironmentFailure
from wm_env_bsuite.experiments import SEEDED_BY_CONSTRUCTOR, WITHOUT_CHANCE, experiment_of

MNIST_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


class BsuiteEnvironment(Protocol):
    """What is used of a `bsuite.environments.Environment`, which is a `dm_env.Environment`."""

    bsuite_num_episodes: int

    def reset(self) -> Any:
        """The first `dm_env.TimeStep`."""

    def step(self, action: int) -> Any:
        """The next `dm_env.TimeStep`."""

    def observation_spec(self) -> Any:
        """A `dm_env.specs.Array`."""

    def action_spec(self) -> Any:
        """A `dm_env.specs.DiscreteArray`."""

    def bsuite_info(self) -> dict[str, Any]:
        """Totals since it was loaded."""


def loader(bsuite_id: str) -> Callable[[int | None], BsuiteEnvironment]:
    """A function from a seed to a new environment of that id; None leaves the seed to chance.

    The seed goes to bsuite's loader as `seed=` in place of the one of bsuite's own settings, which for most ids is
    None or 0. The loader of `deep_sea_stochastic` takes none; the environment is built as it builds it, with the
    constructor's `seed=`. Environments without chance are loaded once and copied, which is much faster.

    Raises `EnvironmentFailure` where the pictures of MNIST are missing and cannot be downloaded.
    """
    name = experiment_of(bsuite_id)[0].name
    settings = sweep.SETTINGS[bsuite_id]
    if name in WITHOUT_CHANCE:
        pristine = bsuite.load(name, settings)
        return lambda seed: copy.copy(pristine)
    if name in SEEDED_BY_CONSTRUCTOR:
        return lambda seed: DeepSea(**settings, deterministic=False, seed=seed)
    if name.startswith("mnist"):
        _read_mnist_once(bsuite_id)
    return lambda seed: bsuite.load(name, {**settings, "seed": seed})


def _read_mnist_once(bsuite_id: str) -> None:
    """bsuite reads 60,000 pictures for each environment that it makes; every episode's seed makes one."""
    if not hasattr(datasets.load_mnist, "cache_info"):
        datasets.load_mnist = cache(datasets.load_mnist)
    try:
        datasets.load_mnist()
    except (OSError, EOFError, ValueError) as error:
        raise EnvironmentFailure(
            f"{bsuite_id} needs the pictures of MNIST, which bsuite downloads to /tmp/mnist: "
            f"{type(error).__name__}: {' '.join(str(error).split())}; connect this machine, or put whole files of "
            f"these names there: {', '.join(MNIST_FILES)}"
        ) from error
