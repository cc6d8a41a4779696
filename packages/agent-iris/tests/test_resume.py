"""A training that is killed and started again ends with the same weights as one left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import iris_training
import pytest
from iris_training import SHORT, die_at, digest, short

from wm_agent_iris.trainer import IRISTrainer
from wm_core.errors import UsageError


def train(directory: Path) -> Path:
    return IRISTrainer("wm/Catch-v0", config=SHORT, directory=directory, seed=3).train()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Digest of the last checkpoint, and the metrics, of a training that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    return digest(train(directory)), (directory / "metrics.csv").read_text()


def killed_in_update(directory: Path, update: int) -> bool:
    """Train in a forked process that kills itself in its `update`-th update; whether it came so far."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            die_at(update, lambda: os.kill(os.getpid(), signal.SIGKILL))
            train(directory)
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_killed_in_any_update_it_ends_with_the_same_bits(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    kills = sum(killed_in_update(tmp_path, update) for update in random.Random(0).sample(range(1, 20), 6))
    path = train(tmp_path)
    assert kills >= 4
    assert (digest(path), (tmp_path / "metrics.csv").read_text()) == undisturbed


def test_killed_from_outside_and_started_anew_it_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    command = [sys.executable, str(iris_training.__file__), str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    saved = tmp_path / "checkpoints" / "training-state.safetensors"
    deadline = time.monotonic() + 60
    while not saved.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert (output.strip(), (tmp_path / "metrics.csv").read_text()) == undisturbed


def test_an_ended_training_can_be_prolonged(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    """Four epochs and then eight differ from eight at once by what is done after the last epoch, not in weights."""
    IRISTrainer("wm/Catch-v0", config=short(epochs=4), directory=tmp_path, seed=3).train()
    longer = IRISTrainer("wm/Catch-v0", config=SHORT, directory=tmp_path, seed=3)
    assert digest(longer.train()) == undisturbed[0]


def test_other_values_of_the_method_are_refused_by_name(tmp_path: Path) -> None:
    IRISTrainer("wm/Catch-v0", config=short(epochs=2), directory=tmp_path, seed=3).train()
    other = IRISTrainer("wm/Catch-v0", config=short(epsilon=0.5), directory=tmp_path, seed=3)
    with pytest.raises(UsageError, match=r"training\.epsilon was 0\.01, is 0\.5"):
        other.train()
