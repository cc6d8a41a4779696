from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from wm_core.errors import CheckpointError, DiskError, UsageError
from wm_torchkit import checkpoint_store
from wm_torchkit.checkpoint import CheckpointHeader
from wm_torchkit.checkpoint_store import CheckpointStore


def header(epoch: int) -> CheckpointHeader:
    return CheckpointHeader(agent="iris", agent_format="iris/1", config={}, counters={"epoch": epoch})


def save(store: CheckpointStore, epoch: int) -> Path:
    value = torch.tensor([float(epoch)])
    return store.save(header(epoch), {"w": value}, {"moment": value * 10, "epoch": epoch})


def loaded_epochs(directory: Path) -> tuple[int, float, float, int]:
    saved = CheckpointStore(directory, "iris").load("iris", "iris/1")
    assert saved is not None
    state = saved.state
    return (
        saved.header.counters["epoch"],
        saved.weights["w"].item(),
        state["moment"].item() / 10,
        state["epoch"],
    )


def test_the_newest_pair_comes_back(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "iris")
    assert store.load("iris", "iris/1") is None
    assert store.latest_path() is None
    save(store, 1)
    path = save(store, 2)
    assert loaded_epochs(tmp_path) == (2, 2, 2, 2)
    assert CheckpointStore(tmp_path, "iris").latest_path() == path


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "iris", keep=2)
    paths = [save(store, epoch) for epoch in range(5)]
    assert sorted(tmp_path.glob("iris-*.safetensors")) == paths[3:]
    with pytest.raises(UsageError, match="keep is 0"):
        CheckpointStore(tmp_path, "iris", keep=0)


class Killed(BaseException):
    pass


def test_killed_between_any_two_writes_of_a_save_the_pair_still_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save is four effects: a temporary file and a rename, twice. It is cut off before each."""
    replace = Path.replace
    for moment in range(2):
        directory = tmp_path / str(moment)
        save(CheckpointStore(directory, "iris"), 1)
        renames = 0

        def dying(self: Path, target: Any, moment: int = moment) -> Any:
            nonlocal renames
            renames += 1
            if renames > moment:
                raise Killed
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", dying)
        with pytest.raises(Killed):
            save(CheckpointStore(directory, "iris"), 2)
        monkeypatch.setattr(Path, "replace", replace)
        assert loaded_epochs(directory) == (1, 1, 1, 1)
        save(CheckpointStore(directory, "iris"), 3)
        assert loaded_epochs(directory) == (3, 3, 3, 3)


def test_a_full_disk_is_an_error_that_names_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CheckpointStore(tmp_path, "iris")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_store, "write_atomically", full)
        with pytest.raises(DiskError, match="none was saved yet"):
            save(store, 1)
    path = save(store, 1)
    monkeypatch.setattr(checkpoint_store, "write_atomically", full)
    with pytest.raises(DiskError, match=rf"No space left on device; the last good one is .*{path.name}"):
        save(store, 2)
    assert loaded_epochs(tmp_path) == (1, 1, 1, 1)


def test_a_changed_or_missing_half_of_the_pair_is_refused(tmp_path: Path) -> None:
    path = save(CheckpointStore(tmp_path, "iris"), 1)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="was changed since"):
        loaded_epochs(tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match="cannot read a checkpoint"):
        loaded_epochs(tmp_path)


def test_a_state_file_of_another_format_is_refused(tmp_path: Path) -> None:
    save(CheckpointStore(tmp_path, "iris"), 1)
    state_file = tmp_path / "training-state.safetensors"
    state_file.write_bytes(safetensors.torch.save({"a": torch.zeros(1)}, {"wmbench": '{"format": "x/9"}'}))
    with pytest.raises(CheckpointError, match="format 'x/9'"):
        CheckpointStore(tmp_path, "iris")
    state_file.write_bytes(state_file.read_bytes()[:30])
    with pytest.raises(CheckpointError, match="cut or damaged"):
        CheckpointStore(tmp_path, "iris")
