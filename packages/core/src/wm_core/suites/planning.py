"""From a suite and what a user adds to it, to the `RunSpec` of its run."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from wm_core import registry
from wm_core.errors import UsageError
from wm_core.plan import Request, plan
from wm_core.specs import RunSpec, Suite, TrainBudget, canonical_json
from wm_core.suites.checkpoints import FoundCheckpoints


def load_suite(name: str) -> Suite:
    """The suite of that name, or the `PluginError` that says which there are."""
    suite: Suite = registry.manifest("suites", name)
    return suite


def plan_suite(suite: Suite, request: Request, *, checkpoints: FoundCheckpoints | None = None) -> RunSpec:
    """Plan the suite's run: what the request leaves open, the suite says.

    With `checkpoints`, what they lack is planned as missing. A learning suite trains for the request's budget, else
    the suite's. Raises what `wm_core.plan.plan` raises.
    """
    if checkpoints is not None and request.train is not None:
        raise UsageError("--checkpoints and --train exclude each other; drop one of the two")
    found = checkpoints or FoundCheckpoints()
    train = request.train
    if suite.measures == "learning" and train is None:
        train = suite.budget
    return plan(
        replace(
            request,
            games=suite.ids(),
            env_backend=suite.backend,
            protocol=request.protocol or suite.protocol,
            seeds=request.seeds if request.seeds is not None else suite.seeds,
            episodes=request.episodes if request.episodes is not None else suite.episodes,
            checkpoints=found.shared,
            seed_checkpoints=found.own,
            partial=checkpoints is not None,
            measures=suite.measures,
            train=train,
            suite=suite.name,
        )
    )


def training_budget(suite: Suite, steps: int | None) -> TrainBudget:
    """The suite's budget, or one of so many environment steps."""
    return TrainBudget(steps=steps) if steps is not None else suite.budget or TrainBudget()


def default_directory(suite: Suite, spec: RunSpec, checkpoints: Path | None) -> Path:
    """The same command finds its run again, also when more checkpoints have come into `checkpoints`."""
    identity = {
        name: value
        for name, value in spec.identity().items()
        if name not in ("checkpoints", "seed_checkpoints", "envs")
    }
    identity |= {
        "suite": suite.name,
        "games": [env.id for env in spec.envs],
        "protocol": spec.envs[0].protocol_label,
        "checkpoints": str(checkpoints.absolute()) if checkpoints else None,
    }
    digest = hashlib.sha256(canonical_json(identity).encode()).hexdigest()
    return Path("results") / f"{suite.name}-{spec.agent}-{digest[:8]}"
