from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import CheckpointError, UsageError
from wm_torchkit import replay_storage
from wm_torchkit.replay import EpisodeReplay

SHAPE = (3, 3, 1)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven rows a file, so that a handful of steps crosses files."""
    monkeypatch.setattr(replay_storage, "FILE_BYTES", 7 * replay_storage.row_dtype(SHAPE, None).itemsize)


def make(directory: Path, mapped: bool, capacity: int = 24, lanes: int = 1) -> EpisodeReplay:
    return EpisodeReplay(
        SHAPE,
        capacity,
        np.random.default_rng(5),
        num_actions=3,
        lanes=lanes,
        directory=directory,
        mapped=mapped,
    )


def collect(replay: EpisodeReplay, steps: int, rng: np.random.Generator) -> None:
    """`steps` steps of random episodes in every lane, going on with those in progress."""
    for _ in range(steps):
        for lane in range(replay.lanes):
            if not replay._open[lane]:
                replay.begin_episode(rng.integers(0, 256, SHAPE, np.uint8), lane)
            ends = rng.random() < 0.2 or steps_of_open_episode(replay, lane) >= 6
            frame = rng.integers(0, 256, SHAPE, np.uint8)
            replay.add_step(int(rng.integers(3)), float(rng.normal()), ends, False, frame, lane)


def steps_of_open_episode(replay: EpisodeReplay, lane: int) -> int:
    return int(replay._episodes.steps[replay._episodes.lanes == lane][-1])


def contents(replay: EpisodeReplay) -> list[Any]:
    """All that can be sampled, and the next draws."""
    stream = replay.sample_stream(5, 4)
    sequences = [replay.sample(5, 4, "right"), replay.sample(5, 4, "left")]
    tensors = [list(vars(batch).values()) for batch in (stream, *sequences)]
    held = replay.episodes()
    return [
        *[t.numpy().tobytes() for batch in tensors for t in batch],
        held.ids.tolist(),
        held.steps.tolist(),
    ]


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    columns = state["episodes"]["columns"].copy()
    plain = {**state, "episodes": {**state["episodes"], "columns": None}}
    state = json.loads(json.dumps(plain))
    state["episodes"]["columns"] = columns
    return state


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("lanes", [1, 2])
def test_a_restored_replay_goes_on_as_the_undisturbed_one(tmp_path: Path, mapped: bool, lanes: int) -> None:
    undisturbed = make(tmp_path / "a", mapped, lanes=lanes)
    collect(undisturbed, 40, np.random.default_rng(1))
    collect(undisturbed, 33, np.random.default_rng(2))

    first = make(tmp_path / "b", mapped, lanes=lanes)
    collect(first, 40, np.random.default_rng(1))
    state = through_json(first.state_dict())
    first.committed()
    second = make(tmp_path / "b", mapped, lanes=lanes)
    second.load_state_dict(state)
    collect(second, 33, np.random.default_rng(2))
    assert contents(second) == contents(undisturbed)


@settings(deadline=None, max_examples=25)
@given(
    plan=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["save", "commit", "die"])), max_size=8),
    mapped=st.booleans(),
)
def test_steps_written_after_the_checkpoint_never_reach_a_restored_replay(
    tmp_path_factory: pytest.TempPathFactory, plan: list[tuple[int, str]], mapped: bool
) -> None:
    """Whatever is written, or saved without a commit, before a death: the committed state comes back."""
    directory = tmp_path_factory.mktemp("replay")
    replay, rng = make(directory / "r", mapped), np.random.default_rng(0)
    collect(replay, 10, rng)
    committed, expected = None, None
    for steps, action in [(0, "commit"), *plan, (30, "die")]:
        collect(replay, steps, rng)
        if action == "die":
            replay = make(directory / "r", mapped)
            replay.load_state_dict(committed)
            assert contents(replay) == expected
            replay.load_state_dict(committed)
            continue
        state = through_json(replay.state_dict())
        if action == "commit":
            replay.committed()
            committed = state
            twin = make(directory / "r", False)
            twin.load_state_dict(state)
            expected = contents(twin)
    shutil.rmtree(directory)


def test_saving_writes_only_what_was_added_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = make(tmp_path / "r", mapped=False)
    written = []
    append = replay_storage.RowFiles.append
    monkeypatch.setattr(
        replay_storage.RowFiles,
        "append",
        lambda self, lane, first, records: (written.append(len(records)), append(self, lane, first, records)),
    )
    collect(replay, 10, np.random.default_rng(0))
    replay.state_dict()
    first = sum(written)
    replay.begin_episode(np.zeros(SHAPE, np.uint8)) if not replay._open[0] else None
    replay.add_step(0, 0.0, True, False, np.zeros(SHAPE, np.uint8))
    replay.state_dict()
    assert first >= 10
    assert sum(written) - first in (1, 2)


@pytest.mark.parametrize("mapped", [False, True])
def test_files_of_dropped_rows_are_deleted_once_the_checkpoint_is_committed(tmp_path: Path, mapped: bool) -> None:
    replay = make(tmp_path / "r", mapped)
    rng = np.random.default_rng(0)
    for _ in range(10):
        collect(replay, 20, rng)
        replay.state_dict()
    before = len(list(tmp_path.glob("r/lane-0/*.bin")))
    replay.committed()
    after = len(list(tmp_path.glob("r/lane-0/*.bin")))
    assert before >= 200 // 7
    assert after <= 24 // 7 + 2


@pytest.mark.parametrize("mapped", [False, True])
def test_a_fresh_replay_over_the_files_of_a_dead_one_sees_none_of_its_rows(tmp_path: Path, mapped: bool) -> None:
    dead = make(tmp_path / "r", mapped)
    collect(dead, 20, np.random.default_rng(3))
    dead.state_dict()
    fresh = make(tmp_path / "r", mapped)
    assert fresh.num_steps == 0
    collect(fresh, 15, np.random.default_rng(4))
    other = make(tmp_path / "s", mapped)
    collect(other, 15, np.random.default_rng(4))
    assert contents(fresh) == contents(other)


def test_a_replay_saved_from_memory_can_be_resumed_in_files(tmp_path: Path) -> None:
    replay = make(tmp_path / "r", mapped=False)
    collect(replay, 30, np.random.default_rng(0))
    state = replay.state_dict()
    mapped = make(tmp_path / "r", mapped=True)
    mapped.load_state_dict(state)
    assert contents(mapped) == contents(replay)


def test_another_capacity_is_honoured_on_resuming(tmp_path: Path) -> None:
    replay = make(tmp_path / "r", mapped=False)
    collect(replay, 60, np.random.default_rng(0))
    state = replay.state_dict()
    small = make(tmp_path / "r", mapped=False, capacity=12)
    small.load_state_dict(state)
    held = small.episodes()
    assert (held.steps + 1).sum() <= 12
    assert held.ids.tolist() == replay.episodes().ids.tolist()[-len(held.ids) :]
    large = make(tmp_path / "r", mapped=False, capacity=60)
    large.load_state_dict(state)
    collect(large, 20, np.random.default_rng(1))
    assert large.num_steps > 24


@pytest.mark.parametrize("mapped", [False, True])
def test_cut_or_missing_files_are_named(tmp_path: Path, mapped: bool) -> None:
    replay = make(tmp_path / "r", mapped)
    collect(replay, 20, np.random.default_rng(0))
    state = replay.state_dict()
    newest = max(tmp_path.glob("r/lane-0/*.bin"))
    newest.write_bytes(newest.read_bytes()[:10])
    with pytest.raises(CheckpointError, match=rf"{newest.name} has 10 bytes"):
        make(tmp_path / "r", mapped).load_state_dict(state)
    newest.unlink()
    with pytest.raises(CheckpointError, match="cut or removed"):
        make(tmp_path / "r", mapped).load_state_dict(state)


def test_the_directory_of_another_replay_is_refused(tmp_path: Path) -> None:
    state = make(tmp_path / "r", mapped=False).state_dict()
    with pytest.raises(CheckpointError, match="another training"):
        make(tmp_path / "s", mapped=False).load_state_dict(state)
    with pytest.raises(UsageError, match="holds another replay: its lanes are 1, this one's 2"):
        make(tmp_path / "r", mapped=False, lanes=2)
    (tmp_path / "r" / "replay.json").write_text("{")
    with pytest.raises(CheckpointError, match="not JSON"):
        make(tmp_path / "r", mapped=False)
