"""A training that is killed and started again ends with the same weights as one left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import diamond_training
import pytest
from diamond_training import SHORT, Squares, die_at, digest, short, write_episodes

from wm_agent_diamond.trainer import DiamondTrainer
from wm_core.errors import UsageError


def train(directory: Path) -> Path:
    return DiamondTrainer("wm/Catch-v0", config=SHORT, directory=directory, seed=3).train()


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
    kills = sum(killed_in_update(tmp_path, update) for update in (2, 8, 5, 13, 3))
    path = train(tmp_path)
    assert kills == 5
    assert (digest(path), (tmp_path / "metrics.csv").read_text()) == undisturbed


def test_killed_from_outside_and_started_anew_it_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    command = [sys.executable, str(diamond_training.__file__), str(tmp_path)]
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
    """Four epochs and then seven differ from seven at once by what is done after the last epoch, not in weights."""
    DiamondTrainer("wm/Catch-v0", config=short(max_epochs=4), directory=tmp_path, seed=3).train()
    longer = DiamondTrainer("wm/Catch-v0", config=SHORT, directory=tmp_path, seed=3)
    assert digest(longer.train()) == undisturbed[0]


@pytest.mark.parametrize("env", [None, Squares])
def test_with_own_episodes_it_goes_on_exactly(tmp_path: Path, env: type[Squares] | None) -> None:
    """With an environment, in a replay so small that its episodes have replaced all of the data by the end."""
    data = write_episodes(tmp_path / "data")

    def train(directory: str, epochs: int) -> str:
        few = {"collection__min_rare_rewards": 0, "collection__replay_capacity": 60, "pictures_every": None}
        config = short(max_epochs=epochs, evaluate_every=None, **few)
        return digest(DiamondTrainer(data=data, env=env, config=config, directory=tmp_path / directory).train())

    whole = train("whole", 3)
    assert train("parts", 2) != whole
    assert train("parts", 3) == whole


def test_other_values_of_the_method_are_refused_by_name(tmp_path: Path) -> None:
    DiamondTrainer("wm/Catch-v0", config=short(max_epochs=2), directory=tmp_path, seed=3).train()
    other = DiamondTrainer("wm/Catch-v0", config=short(collection__epsilon=0.5), directory=tmp_path, seed=3)
    with pytest.raises(UsageError, match=r"training\.collection\.epsilon was 0\.1, is 0\.5"):
        other.train()
