"""Curves of training, from the logs that trainings leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from wm_core.errors import StoreError
from wm_core.provenance import collect
from wm_core.reporting.versus.curves import curves_of, frames_per_step, read_log
from wm_core.specs import EnvSpec, RunSpec, TrainBudget
from wm_core.store import RunDirectory, cell_slug

HEAD = "epoch,env_steps,name,value\n"


def log(directory: Path, text: str) -> Path:
    path = directory / "metrics.csv"
    path.write_text(text)
    return path


def test_evaluations_are_read_and_other_metrics_left(tmp_path: Path) -> None:
    lines = "1,500,collection/return,9\n1,500,evaluation/mean_return,-2.5\n2,900,evaluation/mean_return,3\n"
    assert read_log(log(tmp_path, HEAD + lines)) == [(500, -2.5), (900, 3.0)]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD + "1,500,evaluation/mean_return,2\n2,900,evaluation/mean_return,31")
    assert read_log(path) == [(500, 2.0)]


@pytest.mark.parametrize("line", ["1,x,evaluation/mean_return,2", "1,500,evaluation/mean_return,nan", "1,500"])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(StoreError, match=r"line 2 of .*metrics\.csv is damaged"):
        read_log(log(tmp_path, f"{HEAD}{line}\n"))


def test_another_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not begin with epoch,env_steps,name,value"):
        read_log(log(tmp_path, "step,loss\n1,2\n"))


@pytest.mark.parametrize(("skip", "frames"), [(4, 4.0), ((2, 5), 3.0)])
def test_frames_are_steps_times_the_mean_skip(skip: int | tuple[int, int], frames: float) -> None:
    assert frames_per_step(EnvSpec(requested="x", id="x", backend="b", frame_skip=skip)) == frames


def test_each_training_of_a_run_that_was_evaluated_has_a_curve(tmp_path: Path) -> None:
    env = EnvSpec(
        requested="Pong", id="ALE/Pong-v5", backend="atari", protocol="atari100k", image_size=(64, 64), frame_skip=4
    )
    spec = RunSpec(agent="iris", adapter="a:B", envs=(env,), seeds=(0, 1), episodes=1, train=TrainBudget(epochs=1))
    run = RunDirectory.create_or_resume(tmp_path / "run", spec, collect(spec))
    directory = run.path / "training" / cell_slug(spec.cells()[1])
    directory.mkdir(parents=True)
    log(directory, HEAD + "1,500,evaluation/mean_return,2\n")
    (found,) = curves_of(run, "iris")
    assert (found.label, found.game, found.seed) == ("iris", "Pong", 1)
    assert (found.env_steps, found.frames_per_step, found.mean_return) == ((500,), 4.0, (2.0,))
