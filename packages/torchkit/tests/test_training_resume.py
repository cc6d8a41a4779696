from __future__ import annotations

import os
import random
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("tiny_training.py")
tiny = SimpleNamespace(**runpy.run_path(str(SCRIPT)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    tiny.train(directory)
    return directory


def final(directory: Path) -> tuple[str, str]:
    """Digest of the last checkpoint, and the metrics."""
    return tiny.digest(max(directory.glob("checkpoints/tiny-*.safetensors"))), (directory / "metrics.csv").read_text()


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked process; its wait status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def killed_at(effect: int) -> Callable[[], None]:
    """A training's file effects, the `effect`-th of which is not reached: the process is killed before it."""
    seen = 0

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def before(*arguments: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == effect:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return before

    def patch() -> None:
        Path.replace = dying(Path.replace)  # type: ignore[method-assign]
        Path.unlink = dying(Path.unlink)  # type: ignore[method-assign]
        os.fsync = dying(os.fsync)

    return patch


@pytest.mark.parametrize("mapped", [False, True])
def test_killed_before_any_effect_on_files_it_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: Path, mapped: bool
) -> None:
    """The n-th time, the n-th following rename, deletion or flush is not reached; then it runs to the end."""
    kills = 0
    for effect in [1, 2, 3, 5, 8, 4, 6, 7, 9, 12, 10, 11, 13]:

        def work(effect: int = effect) -> None:
            killed_at(effect)()
            tiny.train(tmp_path, mapped)

        status = in_child(work)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            kills += 1
        else:
            assert status == 0
    tiny.train(tmp_path, mapped)
    assert kills >= 6
    assert final(tmp_path) == final(undisturbed)


@pytest.mark.parametrize("mapped", [False, True])
def test_killed_in_any_update_it_ends_with_the_same_bits(tmp_path: Path, undisturbed: Path, mapped: bool) -> None:
    kills = 0
    for kill in random.Random(1).sample(range(1, 30), 8):

        def die(update: int, kill: int = kill) -> None:
            if update == kill:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(die: Callable[[int], None] = die) -> None:
            tiny.train(tmp_path, mapped, spoil=die)

        kills += os.WIFSIGNALED(in_child(work))
    tiny.train(tmp_path, mapped)
    assert kills >= 5
    assert final(tmp_path) == final(undisturbed)


def test_a_process_killed_from_outside_and_started_anew_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: Path
) -> None:
    """Processes of their own; the first is killed as soon as it has saved."""
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    saved = tmp_path / "checkpoints" / "training-state.safetensors"
    deadline = time.monotonic() + 60
    while not saved.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.strip() == final(undisturbed)[0]
    assert final(tmp_path) == final(undisturbed)
