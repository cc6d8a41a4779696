"""bsuite as a suite: every id is a learning run, every experiment a score."""

from __future__ import annotations

from wm_core.specs import Suite, TrainBudget
from wm_env_bsuite.experiments import EXPERIMENTS

BSUITE = Suite(
    name="bsuite",
    summary="bsuite: 23 experiments, 468 learning runs, a score in [0, 1] for each experiment",
    paper="arXiv:1908.03568",
    games={name: experiment.bsuite_ids() for name, experiment in EXPERIMENTS.items()},
    backend="bsuite",
    episodes=1,
    budget=TrainBudget(),  # as many steps as the episodes of an id can take
    measures="learning",
    scorer="wm_env_bsuite.scorer:score_run",
    figures="wm_env_bsuite.figures:draw",
)
