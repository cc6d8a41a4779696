"""A learning run of an agent in torch, stopped at any moment: the log, the record and the score of one left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from wm_core.envs.resolve import resolve_env
from wm_core.store import RunDirectory
from wm_env_bsuite.backend import BsuiteBackend
from wm_env_bsuite.log_files import log_file, read_log
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.state_tree import join_state, split_state

GAMES = ("bandit_noise/4", "catch/0", "cartpole_swingup/3", "umbrella_length/4")


def opened(game: str, directory: Path) -> ReplayableEnv:
    backend = BsuiteBackend()
    return ReplayableEnv(backend.make(backend.recorded(resolve_env(game), directory)), seed=3)


def play(env: ReplayableEnv, steps: int, rng: random.Random) -> None:
    for _ in range(steps):
        if env.episode_over:
            env.reset()
        env.step(rng.randrange(env.action_space.n))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("steps", [1, 40, 333])
def test_a_resumed_environment_logs_what_one_left_alone_logs(game: str, steps: int, tmp_path: Path) -> None:
    longer = 12 if game.startswith("cartpole") else 1
    with closing(opened(game, tmp_path / "whole")) as env:
        rng = random.Random(0)
        play(env, (steps + 400) * longer, rng)
    with closing(opened(game, tmp_path / "halves")) as env:
        rng = random.Random(0)
        play(env, steps * longer, rng)
        state: Any = join_state(*split_state(env.state_dict()))
        drawn = rng.getstate()
        play(env, 300 * longer, rng)  # lost
    with closing(opened(game, tmp_path / "halves")) as env:
        env.load_state_dict(state)
        rng.setstate(drawn)
        play(env, 400 * longer, rng)
    whole = read_log(log_file(tmp_path / "whole", game))
    assert len(whole) > 3
    assert read_log(log_file(tmp_path / "halves", game)) == whole


SHORT = {
    "training.prefill_steps": 90,
    "training.checkpoint_every": 1,
    "training.tokenizer.first_steps": 2,
    "training.world_model.first_steps": 2,
    "training.world_model.steps_per_epoch": 1,
    "training.actor_critic.steps_per_epoch": 1,
}


def started(directory: Path) -> subprocess.Popen[bytes]:
    """IRIS learns `catch/0` for 450 steps, which are 50 episodes."""
    suite = ["suite", "bsuite", "-a", "iris", "--preset", "tiny", "--train", "--steps", "450", "--only", "catch/0"]
    settings = [f"--set={name}={value}" for name, value in SHORT.items()]
    where = ["--device", "cpu", "--out-dir", str(directory)]
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("wmbench")), *suite, *settings, *where],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def kill_after_episode(episode: int, directory: Path) -> None:
    """SIGKILL as soon as the log has that episode."""
    process = started(directory)
    log = log_file(directory / "learning" / "seed0", "catch/0")
    while process.poll() is None and (not log.exists() or read_log(log)[-1]["episode"] < episode):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_an_agent_of_many_environments_learns_in_the_one_that_is_logged(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("wmbench")), "train", "-a", "dreamerv2", "-g", "catch/0"]
    options = ["--preset", "tiny", "--steps", "540", "--device", "cpu", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    last = read_log(log_file(tmp_path / "learning", "catch/0"))[-1]
    assert (last["episode"], last["steps"]) == (60, 540)


@pytest.mark.slow
def test_a_killed_suite_ends_with_the_log_of_one_left_alone(tmp_path: Path) -> None:
    for episode in (4, 25, 40):
        kill_after_episode(episode, tmp_path / "moved")
        (tmp_path / "moved").rename(tmp_path / "killed")
        (tmp_path / "killed").rename(tmp_path / ("moved" if episode < 40 else "killed"))
    for name in ("whole", "killed"):
        assert started(tmp_path / name).wait() == 0
    runs = [RunDirectory.attach(tmp_path / name) for name in ("whole", "killed")]
    whole, killed = (run.learned(run.spec.cells()[0]) for run in runs)
    assert whole is not None
    assert (whole.learned, whole.episodes, whole.steps) == (True, 50, 450)
    assert killed == whole
    assert (tmp_path / "killed" / "suite.csv").read_text() == (tmp_path / "whole" / "suite.csv").read_text()
