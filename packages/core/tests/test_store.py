"""The run directory survives kills, refuses strangers, and loses nothing."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from wm_core.errors import DiskError, StoreError
from wm_core.specs import Cell, EnvSpec, EpisodeRecord, FailureRecord, LearningRecord, Provenance, RunSpec
from wm_core.store import EPISODES, MANIFEST, RunDirectory, cell_slug, exclusive

ENV = EnvSpec(requested="g", id="wm/G-v0", backend="b")
SPEC = RunSpec(agent="a", adapter="m:A", envs=(ENV,), seeds=(0, 1), episodes=3)
CELL = SPEC.cells()[0]
HERE = Provenance(started="now", command="x", python="3", platform="p", cpu="c", packages={"wm-core": "1"})


def episode(number: int, value: float = 1.0, cell: Cell = CELL) -> EpisodeRecord:
    return EpisodeRecord(
        cell=cell,
        episode=number,
        env_seed=7,
        episode_return=value,
        length=3,
        terminated=True,
        truncated=False,
    )


def opened(path: Path, **changes: object) -> RunDirectory:
    return RunDirectory.create_or_resume(path, SPEC.model_copy(update=changes), HERE)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(0, 0.1))
    assert run.episodes()[CELL] == {0: episode(0, 0.1)}


def test_the_manifest_is_there_before_the_first_record(tmp_path: Path) -> None:
    run = opened(tmp_path / "deep" / "er")
    manifest = json.loads((run.path / MANIFEST).read_text())
    assert manifest["spec_sha256"] == SPEC.digest()
    assert manifest["provenance"]["packages"] == {"wm-core": "1"}


def test_a_torn_last_line_is_passed_over_and_cut_by_the_next_record(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(0))
    with (run.path / EPISODES).open("a") as file:
        file.write('{"kind":"episode","cell":{"ag')
    assert list(run.episodes()[CELL]) == [0]
    run.append(episode(1))
    assert list(run.episodes()[CELL]) == [0, 1]


@pytest.mark.parametrize("size", [1, 65535, 65536, 70001, 140000])
def test_a_torn_line_of_any_length_is_cut_whole(tmp_path: Path, size: int) -> None:
    run = opened(tmp_path)
    run.append(episode(0))
    with (run.path / EPISODES).open("a") as file:
        file.write("x" * size)
    run.append(episode(1))
    assert list(run.episodes()[CELL]) == [0, 1]


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    run = opened(tmp_path)
    with (run.path / EPISODES).open("a") as file:
        file.write("rubbish\n")
    run.append(episode(0))
    with pytest.raises(StoreError, match=r"record 2 of .*rubbish"):
        run.episodes()


def test_of_two_records_of_one_episode_the_first_counts(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(0, 1.0))
    run.append(episode(0, 2.0))
    assert run.episodes()[CELL][0].episode_return == 1.0


def test_another_specification_is_refused_by_the_fields_that_differ(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(StoreError, match=r"differs in: seeds, episodes.*--overwrite"):
        opened(tmp_path, episodes=4, seeds=(0,))


def test_overwrite_replaces_the_run_and_leaves_other_files(tmp_path: Path) -> None:
    opened(tmp_path).append(episode(0))
    (tmp_path / "notes.txt").write_text("mine")
    changed = SPEC.model_copy(update={"episodes": 4})
    run = RunDirectory.create_or_resume(tmp_path, changed, HERE, overwrite=True)
    assert run.episodes()[CELL] == {}
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_how_a_run_is_carried_out_is_not_part_of_what_it_is() -> None:
    assert SPEC.digest() == SPEC.model_copy(update={"video": True}).digest()
    assert SPEC.digest() != SPEC.model_copy(update={"num_envs": 2}).digest()


def test_two_runs_cannot_write_to_one_directory(tmp_path: Path) -> None:
    with exclusive(tmp_path), pytest.raises(StoreError, match="another run is writing"):
        exclusive(tmp_path)


def test_a_file_in_the_place_of_the_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match="choose another --out-dir"):
        opened(tmp_path / "out")


def test_a_failure_is_forgotten_once_its_episode_is_measured(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(FailureRecord(cell=CELL, episode=0, error="E", message="m"))
    run.append(FailureRecord(cell=CELL, episode=1, error="E", message="m"))
    run.append(episode(0))
    assert [failure.episode for failure in run.failures()] == [1]


def test_a_failed_cell_is_forgotten_once_it_is_complete(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(FailureRecord(cell=CELL, error="E", message="m"))
    assert len(run.failures()) == 1
    for number in range(3):
        run.append(episode(number))
    assert run.failures() == []


def test_an_edited_manifest_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    manifest = tmp_path / MANIFEST
    manifest.write_text(manifest.read_text().replace('"episodes": 3', '"episodes": 2'))
    with pytest.raises(StoreError, match="was edited"):
        RunDirectory.attach(tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b'{"format": "wmbench.run/9"}'])
def test_a_manifest_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(StoreError, match=MANIFEST):
        RunDirectory.attach(tmp_path)


@pytest.mark.parametrize("name", [MANIFEST, EPISODES, "cells", ".lock"])
def test_something_else_in_the_place_of_a_file_of_ours_is_an_error(tmp_path: Path, name: str) -> None:
    if name == "cells":
        (tmp_path / name).write_text("a file")
    else:
        (tmp_path / name).mkdir()
    with pytest.raises(StoreError), exclusive(tmp_path):
        opened(tmp_path).episodes()


def test_an_episode_that_was_never_planned_is_an_error(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(70))
    with pytest.raises(StoreError, match=r"episode 70 of .* not part of this run"):
        run.episodes()


def test_no_two_cells_share_a_file_name() -> None:
    games = ["x/y_z-v0", "x_y/z-v0", "x_y_z-v0", "x/y/z-v0", "X/y/z-v0", "x y", "x_y", "x\u00e9"]
    assert len({cell_slug(Cell(agent="a", game=game, seed=0)) for game in games}) == len(games)
    assert cell_slug(Cell(agent="a", game="ALE/Pong-v5", seed=3)) == "ALE_Pong-v5.seed3"


def _append_many(path: str, worker: int) -> None:
    run = RunDirectory.attach(Path(path))
    for number in range(50):
        run.append(episode(number, cell=run.spec.cells()[worker]))


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    run = opened(tmp_path, episodes=50)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append_many, args=(str(tmp_path), worker)) for worker in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [len(played) for played in run.episodes().values()] == [50, 50]


def test_a_full_disk_is_an_error_that_keeps_what_was_recorded(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(0))
    limit = (run.path / EPISODES).stat().st_size + 20
    script = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "from pathlib import Path\n"
        "from wm_core.errors import DiskError\n"
        "from wm_core.store import RunDirectory\n"
        f"run = RunDirectory.attach(Path({str(tmp_path)!r}))\n"
        "record = next(r for r in run.records() if r.kind == 'episode').model_copy(update={'episode': 1})\n"
        "try:\n    run.append(record)\n"
        "except DiskError as error:\n    print(error); sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "run the same command again" in done.stdout
    assert list(run.episodes()[CELL]) == [0]
    run.append(episode(1))
    assert list(run.episodes()[CELL]) == [0, 1]


def test_a_disk_error_counts_as_measured_in_part() -> None:
    assert DiskError.exit_code == 1


def test_what_another_process_records_is_read_without_reading_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = opened(tmp_path), RunDirectory.attach(tmp_path)
    run.append(episode(0))
    assert list(other.episodes()[CELL]) == [0]
    read = []
    whole = RunDirectory.read_from
    monkeypatch.setattr(RunDirectory, "read_from", lambda self, offset: read.append(offset) or whole(self, offset))
    run.append(episode(1))
    assert list(other.episodes()[CELL]) == [0, 1]
    assert read[0] > 0


def test_a_damaged_record_keeps_its_number_when_only_the_end_is_read(tmp_path: Path) -> None:
    run = opened(tmp_path)
    run.append(episode(0))
    run.episodes()
    with (tmp_path / EPISODES).open("a") as file:
        file.write("{}\n")
    for _ in range(2):
        with pytest.raises(StoreError, match="record 3 of"):
            run.episodes()


def test_a_cells_own_episodes_are_found_among_all(tmp_path: Path) -> None:
    other = CELL.model_copy(update={"seed": 1})
    run = opened(tmp_path)
    for number in range(3):
        run.append(episode(number, float(number)))
        run.append(episode(number, -1.0, other))
    assert run.episodes_of(CELL) == run.episodes()[CELL]
    assert run.episodes_of(other) == run.episodes()[other]


def test_a_learning_run_is_done_once_its_log_is_recorded(tmp_path: Path) -> None:
    run = opened(tmp_path, measures="learning", episodes=1)
    run.append(FailureRecord(cell=CELL, error="E", message="m"))
    assert not run.ledger().is_done(CELL)
    assert len(run.failures()) == 1
    record = LearningRecord(cell=CELL, log="learning/x", sha256={}, episodes=4, steps=9, learned=True)
    run.append(record)
    assert run.ledger().is_done(CELL)
    assert run.learned(CELL) == record
    assert run.failures() == []
