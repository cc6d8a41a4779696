"""Our data of the experiments is bsuite's."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bsuite import bsuite, sweep

from wm_env_bsuite.experiments import DEEP_SEA_SIZES, EXPERIMENTS, IDS, REWARD_LEVELS, TAGS, experiment_of

FASTEST_TO_PLAY = [name for name in EXPERIMENTS if not name.startswith("mnist")]


def test_the_ids_are_bsuites_468() -> None:
    assert set(IDS) == set(sweep.SWEEP)
    assert len(IDS) == len(set(IDS)) == 468


def test_episodes_and_tags_are_bsuites() -> None:
    assert {i: experiment_of(i)[0].episodes for i in IDS} == dict(sweep.EPISODES)
    assert set(TAGS) == set(sweep.TAGS)
    for tag, ids in sweep.TAGS.items():
        assert {i for i in IDS if tag in experiment_of(i)[0].tags} == set(ids)


def test_the_foremost_tag_is_bsuites_type() -> None:
    from bsuite.experiments.summary_analysis import BSUITE_INFO

    assert {name: each.tags[0] for name, each in EXPERIMENTS.items()} == {n: i.type for n, i in BSUITE_INFO.items()}


def test_reward_levels_lie_side_by_side() -> None:
    for name in EXPERIMENTS:
        for suffix, setting in (("_noise", "noise_scale"), ("_scale", "reward_scale")):
            if name.endswith(suffix):
                levels = [sweep.SETTINGS[i][setting] for i in EXPERIMENTS[name].bsuite_ids()]
                each = len(levels) // REWARD_LEVELS
                assert levels == sorted(levels)
                assert [levels.count(level) for level in levels] == [each] * len(levels)


def test_deep_sea_sizes_are_bsuites() -> None:
    for name in ("deep_sea", "deep_sea_stochastic"):
        assert {n: sweep.SETTINGS[f"{name}/{n}"]["size"] for n in DEEP_SEA_SIZES} == DEEP_SEA_SIZES


@pytest.mark.parametrize("name", FASTEST_TO_PLAY)
def test_the_longest_episode_is_as_long_as_said(name: str) -> None:
    for index in (0, EXPERIMENTS[name].ids - 1):
        settings = sweep.SETTINGS[f"{name}/{index}"]
        env = bsuite.load(name, settings)
        action = 1 if name.startswith("cartpole") else 0
        if name.startswith("cartpole") and name != "cartpole_swingup":
            getattr(env, "raw_env", env)._height_threshold = -2.0  # the pole may fall: only time ends the episode
        env.reset()
        steps, over = 0, False
        while not over:
            steps, over = steps + 1, env.step(action).last()
        longest = EXPERIMENTS[name].longest_episode(index)
        assert steps == longest


def test_an_unknown_id_is_no_experiments() -> None:
    for wrong in ("catch/20", "catch", "catch/", "catch/01", "catch/-1", "nothing/0"):
        with pytest.raises(KeyError):
            experiment_of(wrong)


def test_the_manifest_and_the_suite_import_neither_bsuite_nor_numpy() -> None:
    code = (
        "import sys, wm_env_bsuite.plugin, wm_env_bsuite.suite;"
        "print(sorted({'bsuite', 'numpy', 'gymnasium', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
