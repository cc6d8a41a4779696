"""Runs of one measurement become one; what contradicts is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from wm_core.errors import StoreError, UsageError
from wm_core.merge import merge
from wm_core.specs import Cell, Checkpoint, EnvSpec, EpisodeRecord, LearningRecord, Provenance, RunSpec
from wm_core.store import RunDirectory

ENV = EnvSpec(requested="g", id="wm/G-v0", backend="b")
OTHER = EnvSpec(requested="h", id="wm/H-v0", backend="b")
SPEC = RunSpec(agent="a", adapter="m:A", envs=(ENV,), seeds=(0,), episodes=2)
HERE = Provenance(started="now", command="x", python="3", platform="p", cpu="c", packages={})


def measured(path: Path, value: float = 1.0, **changes: object) -> Path:
    """A run directory in which every cell that has weights, or needs none, is measured."""
    run = RunDirectory.create_or_resume(path, SPEC.model_copy(update=changes), HERE)
    for cell in set(run.spec.cells()) - set(run.spec.missing()):
        for number in range(run.spec.episodes):
            run.append(episode(cell, number, value))
    return path


def episode(cell: Cell, number: int, value: float) -> EpisodeRecord:
    return EpisodeRecord(
        cell=cell,
        episode=number,
        env_seed=number,
        episode_return=value,
        length=3,
        terminated=True,
        truncated=False,
        wall_time_s=1.0,
    )


def weights(name: str, digit: str) -> Checkpoint:
    return Checkpoint(path=f"/somewhere/{name}", sha256=digit * 64)


def test_seeds_are_joined(tmp_path: Path) -> None:
    run = merge([measured(tmp_path / "a", seeds=(0, 2)), measured(tmp_path / "b", seeds=(1,))], tmp_path / "c")
    assert run.spec.seeds == (0, 1, 2)
    assert all(len(episodes) == 2 for episodes in run.episodes().values())


def test_games_are_joined_and_cells_that_nobody_had_are_still_to_measure(tmp_path: Path) -> None:
    run = merge([measured(tmp_path / "a"), measured(tmp_path / "b", envs=(OTHER,), seeds=(1,))], tmp_path / "c")
    assert [env.id for env in run.spec.envs] == [ENV.id, OTHER.id]
    lengths = {(cell.game, cell.seed): len(episodes) for cell, episodes in run.episodes().items()}
    assert lengths == {(ENV.id, 0): 2, (ENV.id, 1): 0, (OTHER.id, 0): 0, (OTHER.id, 1): 2}


def test_the_merged_run_is_the_run_that_was_never_divided(tmp_path: Path) -> None:
    run = merge([measured(tmp_path / "a"), measured(tmp_path / "b", seeds=(1,))], tmp_path / "c")
    assert run.manifest.spec_sha256 == SPEC.model_copy(update={"seeds": (0, 1)}).digest()


def test_both_sessions_are_kept(tmp_path: Path) -> None:
    assert len(merge([measured(tmp_path / "a"), measured(tmp_path / "b", seeds=(1,))], tmp_path / "c").sessions()) == 2


def test_a_cell_that_both_have_alike_counts_once(tmp_path: Path) -> None:
    run = merge([measured(tmp_path / "a"), measured(tmp_path / "b", seeds=(0, 1))], tmp_path / "c")
    assert sum(map(len, run.episodes().values())) == 4


def test_a_cell_that_both_have_differently_is_refused(tmp_path: Path) -> None:
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b", 2.0, seeds=(0, 1))]
    with pytest.raises(StoreError, match="disagree on episode 0 of a on wm/G-v0, seed 0"):
        merge(runs, tmp_path / "c")


@pytest.mark.parametrize("field", [{"episodes": 3}, {"preset": "big"}, {"device": "cuda"}, {"agent": "b"}])
def test_different_measurements_are_refused_by_the_name_of_what_differs(
    tmp_path: Path, field: dict[str, object]
) -> None:
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b", seeds=(1,), **field)]
    with pytest.raises(StoreError, match=rf"differ in: {next(iter(field))}"):
        merge(runs, tmp_path / "c")


def test_a_game_played_differently_is_refused(tmp_path: Path) -> None:
    other = ENV.model_copy(update={"frame_skip": 4})
    with pytest.raises(StoreError, match=r"play wm/G-v0 differently \(they differ in: frame_skip"):
        merge([measured(tmp_path / "a"), measured(tmp_path / "b", envs=(other,), seeds=(1,))], tmp_path / "c")


def test_checkpoints_of_different_games_are_joined(tmp_path: Path) -> None:
    first = measured(tmp_path / "a", checkpoints={ENV.id: weights("g", "1")})
    second = measured(tmp_path / "b", envs=(OTHER,), checkpoints={OTHER.id: weights("h", "2")})
    run = merge([first, second], tmp_path / "c")
    assert run.spec.checkpoints.keys() == {ENV.id, OTHER.id}
    assert not run.spec.partial


def test_checkpoints_of_different_seeds_are_joined(tmp_path: Path) -> None:
    first = measured(tmp_path / "a", seed_checkpoints={ENV.id: {0: weights("s0", "1")}})
    second = measured(tmp_path / "b", seeds=(1,), seed_checkpoints={ENV.id: {1: weights("s1", "2")}})
    assert merge([first, second], tmp_path / "c").spec.missing() == []


def test_one_game_measured_with_two_checkpoints_is_refused(tmp_path: Path) -> None:
    first = measured(tmp_path / "a", checkpoints={ENV.id: weights("old", "1")})
    second = measured(tmp_path / "b", seeds=(1,), checkpoints={ENV.id: weights("new", "2")})
    with pytest.raises(StoreError, match="measured wm/G-v0 with different weights"):
        merge([first, second], tmp_path / "c")


def test_logs_of_learning_are_copied_file_by_file(tmp_path: Path) -> None:
    paths = []
    for name, env in (("a", ENV), ("b", OTHER)):
        run = RunDirectory.create_or_resume(
            tmp_path / name, SPEC.model_copy(update={"envs": (env,), "measures": "learning", "episodes": 1}), HERE
        )
        (run.path / "learning" / "seed0").mkdir(parents=True)
        (run.path / "learning" / "seed0" / f"{name}.csv").write_text(name)
        run.append(
            LearningRecord(
                cell=run.spec.cells()[0],
                log="learning/seed0",
                sha256={f"{name}.csv": name * 64},
                episodes=1,
                steps=1,
                learned=True,
            )
        )
        paths.append(run.path)
    merged = merge(paths, tmp_path / "c")
    assert sorted(file.name for file in (tmp_path / "c" / "learning" / "seed0").iterdir()) == ["a.csv", "b.csv"]
    assert all(merged.learned(cell) is not None for cell in merged.spec.cells())


def test_one_run_is_not_merged(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two run directories or more"):
        merge([measured(tmp_path / "a")] * 2, tmp_path / "c")


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b", seeds=(1,))]
    with pytest.raises(StoreError, match="holds a run already"):
        merge(runs, runs[0])
