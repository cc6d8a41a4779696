"""An agent's checkpoints: what is refused, what is loaded, and what training leaves."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import TrainRequest
from wm_core.testing.agents import AgentUnderTest
from wm_core.testing.faults import ConformanceError, require, require_same


def check_missing_checkpoint_is_refused(agent: AgentUnderTest) -> None:
    """A path with nothing behind it is not loaded."""
    _require_refusal(agent, agent.directory / "nothing-here.pt", "a path where there is no file")


def check_random_bytes_are_refused(agent: AgentUnderTest) -> None:
    """A file that is no checkpoint is not loaded."""
    path = agent.directory / "random-bytes.pt"
    path.write_bytes(np.random.default_rng(0).bytes(4096))
    _require_refusal(agent, path, "a file of random bytes")


def check_pickles_are_not_executed(agent: AgentUnderTest) -> None:
    """The code in a stranger's pickle does not run."""
    planted = agent.directory / "planted"
    path = agent.directory / "pickle.pt"
    path.write_bytes(pickle.dumps(_Planting(planted)))
    try:
        agent.fresh().load_checkpoint(path)
    except Exception as error:  # noqa: BLE001 - only what ran is judged here
        seen = f"the code in a foreign pickle ran, before {type(error).__name__} was raised"
    else:
        seen = "the code in a foreign pickle ran, and the file was accepted"
    require(
        not planted.exists(),
        rule="loading a checkpoint never executes what a pickle says",
        seen=seen,
        mend="load with safetensors, torch.load(weights_only=True) or np.load(allow_pickle=False)",
    )


def check_there_are_weights(agent: AgentUnderTest) -> None:
    """An agent that needs a checkpoint can be checked with one."""
    require(
        agent.checkpoint is not None or "train" in agent.manifest.capabilities,
        rule="an agent that needs a checkpoint is checked with one",
        seen="none was given, and the agent cannot be trained",
        mend="give the kit a small one (checkpoint=...), or set needs_checkpoint=False if there are no weights",
    )


def check_weights_decide_the_actions(agent: AgentUnderTest) -> None:
    """Whatever an adapter was initialised with, its checkpoint replaces it."""
    one, other = (agent.behaviour(agent.loaded(agent.weights, seed)) for seed in (0, 1))
    require_same(
        one,
        other,
        rule="after load_checkpoint(path) an agent's behaviour depends on the checkpoint, not on the fresh weights",
        seen="two adapters, built with the context seeds 0 and 1, loaded the same file and differed at",
        mend="store every weight in the checkpoint and load all of them, or raise CheckpointError",
    )


def check_truncated_checkpoint_is_refused(agent: AgentUnderTest) -> None:
    """Half a checkpoint is not loaded."""
    path = agent.directory / f"truncated{agent.weights.suffix}"
    if agent.weights.is_dir():
        shutil.copytree(agent.weights, path, dirs_exist_ok=True)
        victim = max((file for file in path.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    else:
        shutil.copyfile(agent.weights, path)
        victim = path
    victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    _require_refusal(agent, path, "the first half of a checkpoint")


def check_training_leaves_a_checkpoint(agent: AgentUnderTest) -> None:
    """`train` returns the path of a checkpoint that it wrote where it was told to."""
    training = agent.training
    inside = Path(training.checkpoint).resolve().is_relative_to(training.directory.resolve())
    require(
        inside and Path(training.checkpoint).exists(),
        rule="train(request) returns the path of a checkpoint under request.directory",
        seen=f"it returned {training.checkpoint}, which is not there",
        mend="write everything under request.directory, and return the checkpoint's path",
    )


def check_training_keeps_to_its_budget(agent: AgentUnderTest) -> None:
    """`train` reports its steps, and takes no more than it was given."""
    steps = [progress.steps for progress in agent.training.progress]
    budget = agent.budget.steps
    assert budget is not None
    require(
        bool(steps) and max(steps) <= budget,
        rule="train() reports its environment steps through request.on_progress, and stays within request.budget",
        seen=f"with a budget of {budget} steps it reported {max(steps) if steps else 'nothing'}",
        mend="report TrainProgress(done=..., steps=...), and stop before the step that is too many",
    )


def check_training_goes_on(agent: AgentUnderTest) -> None:
    """The same request again finds that there is nothing left to do."""
    before = agent.behaviour(agent.loaded(agent.training.checkpoint))
    again = agent.train(agent.training.directory)
    after = agent.behaviour(agent.loaded(again.checkpoint))
    require_same(
        before,
        after,
        rule="train() with the same request and directory goes on, and has nothing left to do when it had ended",
        seen="the weights had changed: its behaviour before and after differed at",
        mend="keep the number of steps done in request.directory, and go on from there",
    )


def check_unknown_setting_is_refused(agent: AgentUnderTest) -> None:
    """A setting that nobody knows is not passed over."""
    rule, mend = "train() refuses overrides it does not know", "raise wm_core.errors.UsageError and name the setting"
    directory = agent.directory / "unknown-setting"
    directory.mkdir(exist_ok=True)
    overrides = {**agent.train_overrides, "no_such_setting": 1}
    request = TrainRequest(budget=agent.budget, directory=directory, overrides=overrides)
    try:
        agent.fresh().train(request)
    except UsageError:
        return
    except Exception as error:
        seen = f"overrides={{'no_such_setting': 1}} raised {type(error).__name__}: {error}"
        raise ConformanceError(rule, seen, mend) from error
    raise ConformanceError(rule, "overrides={'no_such_setting': 1} was accepted", mend)


class _Planting:
    """Its pickle creates a directory when it is loaded carelessly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.path, 0o777, True, True)


def _require_refusal(agent: AgentUnderTest, path: Path, what: str) -> None:
    rule = "load_checkpoint(path) raises CheckpointError for what is not a whole checkpoint of this agent"
    mend = "check what was read, and raise wm_core.errors.CheckpointError; never fall back to fresh weights"
    try:
        agent.fresh().load_checkpoint(path)
    except CheckpointError:
        return
    except Exception as error:
        raise ConformanceError(rule, f"{what} raised {type(error).__name__}: {error}", mend) from error
    raise ConformanceError(rule, f"{what} was accepted", mend)
