"""Ids, specifications and errors of the backend, and how its games play."""

from __future__ import annotations

import urllib.error
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from bsuite import bsuite, sweep
from bsuite.utils import datasets

from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.errors import EnvironmentFailure, UsageError
from wm_core.testing import EnvConformance
from wm_env_bsuite.backend import BsuiteBackend
from wm_env_bsuite.experiments import EXPERIMENTS, IDS, WITHOUT_CHANCE
from wm_env_bsuite.plugin import BSUITE

PLAYABLE = [name for name in EXPERIMENTS if not name.startswith("mnist")]
WITH_CHANCE = [name for name in PLAYABLE if name not in (*WITHOUT_CHANCE, "bandit_scale")]


class TestCatch(EnvConformance):
    manifest = BSUITE
    game = "catch/0"


class TestDeepSeaStochastic(EnvConformance):
    manifest = BSUITE
    game = "deep_sea_stochastic/0"


class TestBandit(EnvConformance):
    manifest = BSUITE
    game = "bandit/3"
    seeds_matter = False


class TestMemorySize(EnvConformance):
    manifest = BSUITE
    game = "memory_size/16"


def made(game: str, **overrides: Any) -> gymnasium.Env[Any, Any]:
    env: gymnasium.Env[Any, Any] = BsuiteBackend().make(resolve_env(game, overrides=overrides))
    return env


def episode(env: gymnasium.Env[Any, Any], actions: int, **reset: Any) -> list[Any]:
    """One episode of the actions 0, 1, 2, ...: observations and rewards."""
    played, over, step = [env.reset(**reset)[0].tolist()], False, 0
    while not over:
        observation, reward, over, _, _ = env.step(step % actions)
        played += [observation.tolist(), reward]
        step += 1
    return played


def test_an_id_alone_finds_the_backend() -> None:
    assert {resolve_env(game).backend for game in IDS} == {"bsuite"}
    assert resolve_env("catch/0", backend="bsuite") == resolve_env("catch/0")


@pytest.mark.parametrize(
    ("game", "said"),
    [
        ("catch/20", r"bsuite has no 'catch/20'; the ids of catch are catch/0 to catch/19"),
        ("memory_len/x", r"the ids of memory_len are memory_len/0 to memory_len/22"),
        ("catsh/0", r"bsuite has no 'catsh/0'; did you mean catch/0\?"),
        ("wm/Catch-v0", r"its experiments: bandit, mnist"),
    ],
)
def test_an_unknown_id_is_refused_with_what_there_is(game: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve_env(game, backend="bsuite")


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_seed_is_the_loaders_seed(name: str) -> None:
    """bsuite's own environment, loaded with that seed, plays the same episode."""
    game = f"{name}/{EXPERIMENTS[name].ids - 1}"
    settings = dict(sweep.SETTINGS[game])
    if name in WITHOUT_CHANCE:
        raw = bsuite.load(name, settings)
    elif name == "deep_sea_stochastic":
        from bsuite.environments.deep_sea import DeepSea

        raw = DeepSea(**settings, deterministic=False, seed=7)
    else:
        raw = bsuite.load(name, {**settings, "seed": 7})
    actions = raw.action_spec().num_values
    timestep = raw.reset()
    expected, step = [timestep.observation.tolist()], 0
    while not timestep.last():
        timestep = raw.step(step % actions)
        expected += [timestep.observation.tolist(), timestep.reward]
        step += 1
    with closing(made(game)) as env:
        env.reset(seed=3)
        env.step(0)
        assert episode(env, actions, seed=7) == expected


@pytest.mark.parametrize("name", WITH_CHANCE)
def test_other_seeds_play_other_episodes(name: str) -> None:
    with closing(made(f"{name}/4")) as env:
        played = [episode(env, 2, seed=seed) for seed in (0, 1, 2, 3, 4, 5, 0)]
    assert played[0] == played[-1]
    assert any(one != played[0] for one in played)


@pytest.mark.parametrize("name", sorted(WITHOUT_CHANCE))
def test_where_seeds_change_nothing_the_report_says_so(name: str) -> None:
    with closing(made(f"{name}/2")) as env:
        assert episode(env, 2, seed=0) == episode(env, 2, seed=1) == episode(env, 2)
    notes = BsuiteBackend().notes(resolve_env(f"{name}/2"), "learning")
    assert notes == (f"{name}: there is no chance in the environment; a seed changes the agent alone",)


def test_a_policys_return_is_no_bsuite_score() -> None:
    backend = BsuiteBackend()
    (said,) = backend.notes(resolve_env("catch/0"), "policy")
    assert "not a bsuite score" in said
    assert backend.notes(resolve_env("memory_len/0"), "policy") == (said,)
    assert backend.notes(resolve_env("catch/0"), "learning") == ()


def test_a_loader_without_a_seed_is_named() -> None:
    (said,) = BsuiteBackend().notes(resolve_env("deep_sea_stochastic/0"), "learning")
    assert said.startswith("deep_sea_stochastic: bsuite's loader takes no seed")


def test_bsuite_does_not_reset_by_itself() -> None:
    with closing(made("bandit/0")) as env:
        env.reset(seed=0)
        env.step(0)
        with pytest.raises(RuntimeError, match="the episode is over"):
            env.step(0)


def test_actions_that_are_none_are_refused() -> None:
    with closing(made("bandit/0")) as env:
        env.reset(seed=0)
        for wrong in (-1, 11):
            with pytest.raises(ValueError, match=r"is not in 0\.\.10"):
                env.step(wrong)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"sticky_actions": 0.25}, "sticky_actions"),
        ({"options": {"log": 1}}, "knows no option 'log'"),
        ({"options": {"log_dir": 3}}, "no path of a directory"),
        ({"options": {"log_dir": "x"}, "frame_skip": 4}, "no bsuite score; leave frame_skip at 1"),
        ({"options": {"log_dir": "x"}, "max_frames": 5}, "no bsuite score; leave max_frames at None"),
    ],
)
def test_what_means_nothing_here_is_refused(overrides: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve_env("catch/0", overrides=overrides)


def no_network(*_: Any) -> None:
    raise urllib.error.URLError("[Errno -3] Temporary failure in name resolution")


def test_mnist_without_its_pictures_is_one_clear_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_mnist", no_network)
    with pytest.raises(EnvironmentFailure, match=r"mnist_noise/4 needs the pictures of MNIST.*train-images"):
        make_vector(resolve_env("mnist_noise/4"), 1)
    with closing(make_vector(resolve_env("catch/0"), 1)) as envs:
        assert envs.num_envs == 1


def test_mnist_is_read_once_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(-128, 128, (50, 28, 28)).astype(np.int8), rng.integers(0, 10, 50)
    reads = []

    def read() -> Any:
        reads.append(1)
        return (images, labels), (images, labels)

    monkeypatch.setattr(datasets, "load_mnist", read)
    with closing(made("mnist/0")) as env:
        played = [episode(env, 10, seed=seed) for seed in (0, 1, 2, 0)]
        assert played[0] == played[3] != played[1]
    assert len(reads) == 1
    with closing(made("mnist/0", observation="rgb", image_size=(28, 28))) as env:
        picture, _ = env.reset(seed=0)
        assert any((picture[:, :, 0] == image.view(np.uint8)).all() for image in images)


def test_the_backend_is_found_by_name() -> None:
    assert isinstance(registry.load_backend("bsuite"), BsuiteBackend)
