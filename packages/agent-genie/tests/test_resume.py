"""A training that is killed and started again ends with the same weights as one left alone."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from genie_training import die_at, digest, short, trainer

from wm_core.errors import UsageError


def train(directory: Path) -> Path:
    return trainer(directory).train()


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
    kills = sum(killed_in_update(tmp_path, update) for update in random.Random(0).sample(range(1, 14), 5))
    path = train(tmp_path)
    assert kills >= 4
    assert (digest(path), (tmp_path / "metrics.csv").read_text()) == undisturbed


def test_a_collection_that_was_cut_off_is_made_again(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    (tmp_path / "video").mkdir()
    (tmp_path / "video" / "frames-00000.npy").write_bytes(b"cut off")
    assert digest(train(tmp_path)) == undisturbed[0]


def test_other_seeds_train_other_weights(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    assert digest(trainer(tmp_path, seed=4).train()) != undisturbed[0]


def test_other_values_of_the_method_are_refused_by_name(tmp_path: Path) -> None:
    trainer(tmp_path, short(epochs=2)).train()
    with pytest.raises(UsageError, match=r"training\.labels was 40, is 41"):
        trainer(tmp_path, short(labels=41)).train()
