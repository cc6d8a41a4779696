"""The log is bsuite's, belongs to one environment, and survives a stop."""

from __future__ import annotations

import gc
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bsuite import bsuite, sweep
from bsuite.logging import csv_load, csv_logging
from bsuite.utils import wrappers
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.errors import StoreError, UsageError
from wm_env_bsuite import recording
from wm_env_bsuite.backend import BsuiteBackend
from wm_env_bsuite.game import BsuiteGame
from wm_env_bsuite.log_files import is_logged, log_file, read_log, write_log
from wm_env_bsuite.recording import RecordedGame

ONE_OF_EACH = (
    *("bandit/3", "bandit_noise/7", "bandit_scale/16", "catch/1", "catch_noise/19", "catch_scale/0", "cartpole/2"),
    *("cartpole_swingup/5", "deep_sea/0", "deep_sea_stochastic/1", "discounting_chain/9", "memory_len/7"),
    *("memory_size/11", "mountain_car_scale/17", "umbrella_length/10", "umbrella_distract/3"),
)


def play(env: Any, episodes: int, seeds: Any = lambda episode: None, first: int = 0) -> None:
    """Episodes of actions that a stream of the episode's number gives."""
    for episode in range(first, first + episodes):
        rng = np.random.default_rng(episode)
        env.reset(seed=seeds(episode))
        over = False
        while not over:
            _, _, over, _, _ = env.step(int(rng.integers(env.action_space.n)))


@pytest.mark.parametrize("game", ONE_OF_EACH)
def test_the_log_is_what_bsuites_own_logger_writes(game: str, tmp_path: Path) -> None:
    name = game.partition("/")[0]
    episodes = 14 if name.startswith(("cartpole", "mountain_car")) else 125
    with closing(RecordedGame(BsuiteGame(game), tmp_path / "ours")) as env:
        play(env, episodes, lambda episode: 5 if episode == 0 else None)
    seeded = {} if name in ("bandit", "discounting_chain") else {"seed": 5}
    if name == "deep_sea_stochastic":
        from bsuite.environments.deep_sea import DeepSea

        raw = DeepSea(**sweep.SETTINGS[game], deterministic=False, seed=5)
    else:
        raw = bsuite.load(name, {**sweep.SETTINGS[game], **seeded})
    official = csv_logging.wrap_environment(raw, game, str(tmp_path / "theirs"))
    for episode in range(episodes):
        rng = np.random.default_rng(episode)
        timestep = official.reset()
        while not timestep.last():
            timestep = official.step(int(rng.integers(official.action_spec().num_values)))
    ours, theirs = (read_log(log_file(tmp_path / which, game)) for which in ("ours", "theirs"))
    assert len(ours) > 10
    assert ours == theirs
    assert list(ours[0]) == list(theirs[0])


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 200_000))
def test_the_logged_episodes_are_bsuites(episode: int) -> None:
    assert is_logged(episode) == wrappers._logarithmic_logging(episode)


def test_the_first_two_thousand_logged_episodes_are_bsuites() -> None:
    assert [n for n in range(1, 2001) if is_logged(n)] == [
        n for n in range(1, 2001) if wrappers._logarithmic_logging(n)
    ]


def test_totals_go_on_over_the_seeds_of_episodes(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env:
        returns = []
        for episode in range(20):
            env.reset(seed=episode)
            over, reward = False, 0.0
            while not over:
                _, reward, over, _, _ = env.step(1)
            returns.append(reward)
    last = read_log(log_file(tmp_path, "catch/0"))[-1]
    assert last["episode"] == 20
    assert last["total_return"] == sum(returns)
    assert last["total_regret"] == sum(1 - each for each in returns)
    assert len(set(returns)) == 2


def test_the_best_episode_is_the_best_of_all_seeds(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("cartpole/0"), tmp_path)) as env:
        play(env, 8, lambda episode: episode)
    rows = read_log(log_file(tmp_path, "cartpole/0"))
    assert [row["best_episode"] for row in rows] == np.maximum.accumulate([r["episode_return"] for r in rows]).tolist()


def test_bsuites_own_loader_reads_the_log(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("deep_sea/4"), tmp_path)) as env:
        play(env, 3)
    frame, _ = csv_load.load_bsuite(str(tmp_path))
    assert frame.bsuite_id.tolist() == ["deep_sea/4"] * 3
    assert frame["size"].tolist() == [18] * 3


def test_the_log_ends_with_the_experiment(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("discounting_chain/0"), tmp_path)) as env:
        env.planned = 4
        play(env, 6)
    assert [row["episode"] for row in read_log(log_file(tmp_path, "discounting_chain/0"))] == [1, 2, 3, 4]


def test_an_agents_preprocessing_does_not_reach_the_log(tmp_path: Path) -> None:
    spec = resolve_env("catch_scale/19", overrides={"observation": "rgb", "clip_rewards": True, "frame_stack": 2})
    with closing(BsuiteBackend().make(BsuiteBackend().recorded(spec, tmp_path))) as env:
        play(env, 5)
    assert abs(read_log(log_file(tmp_path, "catch_scale/19"))[-1]["episode_return"]) == 1000.0


def test_a_second_environment_with_the_same_log_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    backend = BsuiteBackend()
    spec = backend.recorded(resolve_env("catch/0"), tmp_path)
    first = backend.make(spec)
    with pytest.raises(
        UsageError, match=r"catch-0\.csv is the log of one training environment.*--set training.num_envs=1"
    ):
        backend.make(spec)
    first.close()
    backend.make(spec).close()


def test_an_environment_that_is_gone_lets_go_of_its_log(tmp_path: Path) -> None:
    spec = BsuiteBackend().recorded(resolve_env("catch/0"), tmp_path)
    abandoned = BsuiteBackend().make(spec)
    assert len(recording._open) == 1
    del abandoned
    gc.collect()
    BsuiteBackend().make(spec).close()


def test_vector_environments_do_not_record_unless_asked(tmp_path: Path) -> None:
    spec = BsuiteBackend().recorded(resolve_env("bandit/0"), tmp_path)
    for recorded in (False, True):
        with closing(make_vector(spec, 1, recorded=recorded)) as envs:
            envs.reset(seed=np.array([0]))
            envs.step(np.array([0]))
        assert log_file(tmp_path, "bandit/0").exists() == recorded


def test_a_spec_without_its_log_is_the_spec(tmp_path: Path) -> None:
    spec = resolve_env("bandit/0")
    backend = BsuiteBackend()
    assert backend.recorded(backend.recorded(spec, tmp_path), None) == spec


def test_a_stopped_run_is_not_mixed_with_another(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env:
        play(env, 3)
    with (
        closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env,
        pytest.raises(UsageError, match=r"3 episodes of a run that was stopped"),
    ):
        env.reset()


def test_begun_anew_the_old_log_is_replaced(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env:
        play(env, 3)
    with closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env:
        env.restore_log(None)
        assert not env.path.exists()
        play(env, 1)
    assert [row["episode"] for row in read_log(log_file(tmp_path, "catch/0"))] == [1]


@pytest.mark.parametrize("game", ["bandit/1", "catch/0", "cartpole_swingup/0", "deep_sea/0", "memory_size/3"])
def test_a_restored_log_goes_on_as_if_never_stopped(game: str, tmp_path: Path) -> None:
    def seeds(episode: int) -> int:
        return 100 + episode

    with closing(RecordedGame(BsuiteGame(game), tmp_path / "whole")) as env:
        play(env, 12, seeds)
    with closing(RecordedGame(BsuiteGame(game), tmp_path / "halves")) as env:
        play(env, 4, seeds)
        state = env.log_state()
        play(env, 5, seeds, first=4)  # lost by the stop
    with closing(RecordedGame(BsuiteGame(game), tmp_path / "halves")) as env:
        env.restore_log(None)
        play(env, 1, seeds, first=3)  # what `ReplayableEnv` does again
        env.restore_log(state)
        assert [row["episode"] for row in read_log(env.path)] == [1, 2, 3, 4]
        play(env, 8, seeds, first=4)
    assert read_log(log_file(tmp_path / "halves", game)) == read_log(log_file(tmp_path / "whole", game))


def test_the_backend_says_how_far_a_log_has_come(tmp_path: Path) -> None:
    backend, spec = BsuiteBackend(), resolve_env("deep_sea/3")
    empty = backend.learning_log(spec, tmp_path)
    assert (empty.files, empty.episodes, empty.planned, empty.most_steps) == ((), 0, 10_000, 160_000)
    with closing(backend.make(backend.recorded(spec, tmp_path))) as env:
        play(env, 3)
    log = backend.learning_log(spec, tmp_path)
    assert (log.files, log.episodes, log.steps) == ((log_file(tmp_path, "deep_sea/3"),), 3, 48)
    assert not log.complete


@pytest.mark.parametrize(
    "text", ["steps,episode\n1,2\n", "steps,episode,total_return,episode_len,episode_return\n1\n", "\0"]
)
def test_a_file_that_is_no_log_is_named(text: str, tmp_path: Path) -> None:
    path = log_file(tmp_path, "catch/0")
    path.write_text(text)
    with pytest.raises(StoreError, match=r"bsuite_id_-_catch-0\.csv is no log of bsuite"):
        read_log(path)


def test_an_empty_log_is_never_written(tmp_path: Path) -> None:
    with closing(RecordedGame(BsuiteGame("catch/0"), tmp_path)) as env:
        state = env.log_state()
        play(env, 2)
        env.restore_log(state)
    assert not log_file(tmp_path, "catch/0").exists()
    write_log(log_file(tmp_path, "catch/0"), [{"steps": 1.0}])
    assert log_file(tmp_path, "catch/0").read_text() == "steps\n1.0\n"
