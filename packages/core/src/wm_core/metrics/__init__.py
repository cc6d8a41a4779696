"""Statistics over games and runs, with the definitions of Agarwal et al. 2021 (arXiv:2108.13264).

A run is one number: the mean return of one training run's (or seed's) evaluation episodes on one game. Scores come
as a mapping from game to its runs, of equal or unequal number, or as a matrix of shape `(runs, games)`.
"""

from __future__ import annotations

from wm_core.metrics.aggregates import aggregate, bootstrap_iqm_ci, iqm_of_array
from wm_core.metrics.difference import difference
from wm_core.metrics.improvement import probability_of_improvement
from wm_core.metrics.normalisation import human_normalise, superhuman_count
from wm_core.metrics.profiles import performance_profile
from wm_core.metrics.scores import Scores

__all__ = [
    "Scores",
    "aggregate",
    "bootstrap_iqm_ci",
    "difference",
    "human_normalise",
    "iqm_of_array",
    "performance_profile",
    "probability_of_improvement",
    "superhuman_count",
]
