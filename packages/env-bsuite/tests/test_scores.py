"""The scores are those of bsuite 0.3.6 on the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsuite.experiments.summary_analysis import BSUITE_INFO
from bsuite.logging import csv_load
from bsuite_logs import made_log, write_experiment
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_env_bsuite.experiments import EXPERIMENTS
from wm_env_bsuite.log_files import log_file, read_log, write_log
from wm_env_bsuite.scores import is_complete, score, score_of_id

pytestmark = pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")

BROKEN = ("deep_sea", "deep_sea_stochastic")
"""bsuite's own scorer calls pandas.Series.append, which pandas 2 removed."""


def official(directory: Path, experiment: str) -> float:
    frame, _ = csv_load.load_bsuite(str(directory))
    return float(BSUITE_INFO[experiment].score(frame))


@pytest.mark.parametrize("experiment", [name for name in EXPERIMENTS if name not in BROKEN])
@pytest.mark.parametrize("seed", range(3))
def test_a_score_is_bsuites_own(experiment: str, seed: int, tmp_path: Path) -> None:
    logs = write_experiment(tmp_path, experiment, seed)
    assert score(experiment, logs) == pytest.approx(official(tmp_path, experiment), abs=1e-12)
    assert 0.0 < score(experiment, logs) < 1.0


@pytest.mark.parametrize("experiment", BROKEN)
@pytest.mark.parametrize("seed", range(3))
def test_deep_sea_is_bsuites_own_once_pandas_can_append(
    experiment: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = write_experiment(tmp_path, experiment, seed)
    with pytest.raises(AttributeError):
        official(tmp_path, experiment)
    monkeypatch.setattr(pd.Series, "append", lambda self, other: pd.concat([self, other]), raising=False)
    assert score(experiment, logs) == pytest.approx(official(tmp_path, experiment), abs=1e-12)
    assert 0.0 < score(experiment, logs) < 1.0


@pytest.mark.parametrize("game", ["catch/3", "cartpole_scale/9", "memory_len/2", "mnist/0", "mountain_car_noise/19"])
def test_the_score_of_an_id_is_bsuites_on_that_file_alone(game: str, tmp_path: Path) -> None:
    log = made_log(game, np.random.default_rng(4))
    write_log(log_file(tmp_path, game), log)
    assert score_of_id(game, log) == pytest.approx(official(tmp_path, game.partition("/")[0]), abs=1e-12)
    with pytest.raises(ValueError, match=f"{game} is incomplete"):
        score_of_id(game, log[:-1])


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(20)))
def test_the_order_of_the_logs_changes_nothing(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    logs = {index: made_log(f"catch_noise/{index}", rng) for index in range(20)}
    assert score("catch_noise", {index: logs[index] for index in order}) == score("catch_noise", logs)


def test_a_score_needs_all_ids_and_all_episodes(tmp_path: Path) -> None:
    logs = write_experiment(tmp_path, "bandit", 0)
    with pytest.raises(ValueError, match=r"bandit is incomplete: no log of 10000 episodes for \[7\]"):
        score("bandit", {index: log for index, log in logs.items() if index != 7})
    with pytest.raises(ValueError, match=r"for \[3\]"):
        score("bandit", {**logs, 3: logs[3][:-1]})
    assert not is_complete("bandit", logs[3][:-1])


def test_written_logs_are_read_back(tmp_path: Path) -> None:
    logs = write_experiment(tmp_path, "memory_len", 1)
    assert read_log(tmp_path / "bsuite_id_-_memory_len-4.csv") == logs[4]
