"""A training that is killed and started again ends with the same weights as one left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import dreamer_training
import pytest
from dreamer_training import SHORT, die_at, digest, short

from wm_agent_dreamer.trainer import DreamerTrainer
from wm_core.errors import UsageError


def trainer(directory: Path, **training: object) -> DreamerTrainer:
    config = short(**training) if training else SHORT
    return DreamerTrainer("wm/Catch-v0", config=config, image_size=(16, 16), directory=directory, seed=3)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Digest of the last checkpoint, and the metrics, of a training that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    return digest(trainer(directory).train()), (directory / "metrics.csv").read_text()


def killed_in_update(directory: Path, update: int) -> bool:
    """Train in a forked process that kills itself in its `update`-th update; whether it came so far."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            die_at(update, lambda: os.kill(os.getpid(), signal.SIGKILL))
            trainer(directory).train()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_killed_in_any_update_it_ends_with_the_same_bits(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    kills = sum(killed_in_update(tmp_path, update) for update in random.Random(0).sample(range(1, 13), 4))
    path = trainer(tmp_path).train()
    assert kills >= 3
    assert (digest(path), (tmp_path / "metrics.csv").read_text()) == undisturbed


def test_killed_from_outside_and_started_anew_it_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    command = [sys.executable, str(dreamer_training.__file__), str(tmp_path)]
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
    trainer(tmp_path, env_steps=120).train()
    assert digest(trainer(tmp_path).train()) == undisturbed[0]


def test_other_values_of_the_method_are_refused_by_name(tmp_path: Path) -> None:
    trainer(tmp_path, env_steps=90).train()
    with pytest.raises(UsageError, match=r"training\.epsilon was 0\.2, is 0\.5"):
        trainer(tmp_path, epsilon=0.5).train()
