"""What `wmbench new-agent` and `new-env` write works as it is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from wm_core import registry
from wm_core.cli.new import new_agent, new_env
from wm_core.errors import CheckpointError
from wm_core.protocols import TrainRequest
from wm_core.specs import TrainBudget
from wm_core.testing import AgentUnderTest, check_env

Train = Callable[..., Path]


def write(command: Any, name: str, directory: Path) -> Path:
    done = CliRunner().invoke(command, [name, "--directory", str(directory)], catch_exceptions=False)
    assert done.exit_code == 0
    return directory


@pytest.mark.parametrize(("command", "least"), [(new_agent, 25), (new_env, 20)])
def test_its_own_tests_pass(command: Any, least: int, tmp_path: Path) -> None:
    root = write(command, "sample", tmp_path / "sample")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[-4]) >= least, done.stdout
    assert "skipped" not in done.stdout


@pytest.fixture
def linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentUnderTest]:
    """The agent that the template writes."""
    monkeypatch.syspath_prepend(str(write(new_agent, "linear", tmp_path / "linear") / "src"))
    with closing(AgentUnderTest(registry.load_class("wm_agent_linear.plugin:MANIFEST", "the template"))) as agent:
        yield agent
    for module in [name for name in sys.modules if name.startswith("wm_agent_linear")]:
        del sys.modules[module]


def train(agent: AgentUnderTest, directory: Path, **budget: int) -> Path:
    directory.mkdir(exist_ok=True)
    return Path(agent.fresh().train(TrainRequest(budget=TrainBudget(**budget), directory=directory)))


def weights(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name].tolist() for name in file}


def test_training_keeps_exactly_to_its_budget(linear: AgentUnderTest, tmp_path: Path) -> None:
    assert weights(train(linear, tmp_path / "steps", steps=1234))["steps"] == 1234
    assert weights(train(linear, tmp_path / "epochs", epochs=2))["steps"] == 2000


def test_an_interrupted_training_ends_like_an_undisturbed_one(linear: AgentUnderTest, tmp_path: Path) -> None:
    whole = train(linear, tmp_path / "whole", steps=900)

    class Interrupted(Exception):
        pass

    def interrupt(progress: Any) -> None:
        if progress.steps > 400:
            raise Interrupted

    parts = tmp_path / "parts"
    parts.mkdir()
    with pytest.raises(Interrupted):
        linear.fresh().train(TrainRequest(budget=TrainBudget(steps=900), directory=parts, on_progress=interrupt))
    assert weights(train(linear, parts, steps=900)) == weights(whole)


def test_weights_of_another_game_are_refused(linear: AgentUnderTest, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, weights=np.zeros((3, 3)), steps=1, episodes=1, baseline=0.0)
    with pytest.raises(CheckpointError, match=r"has \(3, 3\) weights, not \(101, 3\)"):
        linear.fresh().load_checkpoint(other)


def test_the_environment_plays_beside_the_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(write(new_env, "squares", tmp_path / "squares") / "src"))
    manifest = registry.load_class("wm_env_squares.plugin:MANIFEST", "the template")
    registry.register(manifest, "envs")
    try:
        assert check_env("squares") is None
    finally:
        registry.unregister("squares", "envs")
