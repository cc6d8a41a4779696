"""Films, npz and HDF5 become datasets with what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wm_agent_genie.data import importers
from wm_agent_genie.data.importers import import_files
from wm_agent_genie.data.reader import VideoDataset
from wm_agent_genie.data.validate import validate
from wm_core.errors import UsageError
from wm_torchkit.video import write_mp4

av = pytest.importorskip("av")
h5py = pytest.importorskip("h5py")


def episodes(rng: np.random.Generator, count: int = 3, length: int = 4) -> np.ndarray:
    return rng.integers(0, 256, (count, length, 8, 6, 3)).astype(np.uint8)


def film(path: Path, frames: int = 12) -> Path:
    """Grey, brighter by 20 with each frame."""
    write_mp4(path, np.stack([np.full((32, 48, 3), 20 * t, np.uint8) for t in range(frames)]))
    return path


def test_each_film_becomes_an_episode(tmp_path: Path) -> None:
    films = [film(tmp_path / "a.mp4"), film(tmp_path / "b.mp4", 7)]
    manifest = import_files(films, tmp_path / "out", game="greys")
    assert (manifest.episodes, manifest.frames, manifest.actions) == (2, 19, None)
    assert (manifest.height, manifest.width, manifest.channels) == (32, 48, 3)
    assert validate(tmp_path / "out") == manifest
    brightness = VideoDataset(tmp_path / "out").episode(0).frames[0].mean(axis=(1, 2, 3))
    np.testing.assert_allclose(brightness, 20 * np.arange(12), atol=6)


def test_of_a_film_every_nth_frame_is_kept_in_the_size_asked_for(tmp_path: Path) -> None:
    import_files([film(tmp_path / "a.mp4")], tmp_path / "out", every=3, size=(16, 16))
    frames = VideoDataset(tmp_path / "out").episode(0).frames[0]
    assert frames.shape == (4, 16, 16, 3)
    np.testing.assert_allclose(frames.mean(axis=(1, 2, 3)), [0, 60, 120, 180], atol=6)


def test_a_long_film_becomes_several_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "FILM_EPISODE", 5)
    manifest = import_files([film(tmp_path / "a.mp4")], tmp_path / "out")
    assert VideoDataset(tmp_path / "out").lengths.tolist() == [5, 5, 2]
    assert manifest.frames == 12


def test_a_film_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"no film at all")
    with pytest.raises(UsageError, match=r"a\.mp4 cannot be decoded"):
        import_files([tmp_path / "a.mp4"], tmp_path / "out")


def test_npz_with_offsets_keeps_episodes_actions_rewards_and_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frames, actions = episodes(rng, 1, 9)[0], np.arange(9) % 3
    arrays = {"frames": frames, "actions": actions, "rewards": np.arange(9.0), "levels": np.array([7, 8])}
    np.savez(tmp_path / "a.npz", **arrays, offsets=np.array([0, 4, 9]))
    manifest = import_files([tmp_path / "a.npz"], tmp_path / "out")
    dataset = VideoDataset(tmp_path / "out")
    assert dataset.lengths.tolist() == [4, 5]
    assert (manifest.actions, manifest.levels) == (3, True)
    second = dataset.episode(1)
    np.testing.assert_array_equal(second.frames[0], frames[4:])
    assert second.actions is not None
    np.testing.assert_array_equal(second.actions[0], actions[4:8])
    assert dataset.rewards is not None
    assert dataset.rewards[4:].tolist() == [4, 5, 6, 7, 0]


@pytest.mark.parametrize("extra", [0, 1])
def test_episodes_of_one_length_come_as_one_array(tmp_path: Path, extra: int) -> None:
    frames = episodes(np.random.default_rng(0))
    actions = np.arange(3 * (3 + extra)).reshape(3, -1) % 2
    np.savez(tmp_path / "a.npz", frames=frames, actions=actions)
    import_files([tmp_path / "a.npz"], tmp_path / "out", actions=5)
    clips = VideoDataset(tmp_path / "out").windows(4)
    np.testing.assert_array_equal(clips.frames, frames)
    assert clips.actions is not None
    np.testing.assert_array_equal(clips.actions, actions[:, :3])


def test_hdf5_groups_are_episodes(tmp_path: Path) -> None:
    frames = episodes(np.random.default_rng(0))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for index, each in enumerate(frames):
            file[f"episode_{index}/obs"] = each
            file[f"episode_{index}/act"] = np.full(3, index)
    names = {"frames": "obs", "actions": "act"}
    import_files([tmp_path / "a.h5"], tmp_path / "out", names=names)
    clips = VideoDataset(tmp_path / "out").windows(4)
    np.testing.assert_array_equal(clips.frames, frames)
    assert clips.actions is not None
    assert clips.actions.tolist() == [[0] * 3, [1] * 3, [2] * 3]


def test_hdf5_with_flat_arrays_is_read_like_npz(tmp_path: Path) -> None:
    frames = episodes(np.random.default_rng(0), 1, 5)[0]
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["frames"] = frames[..., 0]
    import_files([tmp_path / "a.hdf5"], tmp_path / "out")
    np.testing.assert_array_equal(VideoDataset(tmp_path / "out").episode(0).frames[0], frames[..., :1])


FRAMES = np.zeros((4, 8, 6, 3), np.uint8)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"obs": FRAMES}, "no array 'frames' .it has: obs"),
        ({"frames": FRAMES.astype(np.float32)}, "frames are float32"),
        ({"frames": FRAMES, "actions": np.zeros(7, int)}, "7 actions for 4 frames"),
        ({"frames": FRAMES, "actions": np.zeros(4)}, "expected one integer"),
        ({"frames": FRAMES, "offsets": np.array([0, 3])}, "do not lead from 0 to the 4"),
        ({"frames": FRAMES, "offsets": np.array([0, 2, 4]), "levels": np.zeros(1, int)}, "one for each of 2"),
        ({"frames": FRAMES, "actions": np.array([{}] * 4, object)}, "without pickle"),
        ({"frames": np.uint8(1)}, "frames of shape"),
        ({"frames": FRAMES[:, :0]}, "H and W >= 1"),
        ({"frames": FRAMES, "actions": np.arange(4) - 5}, "numbered from 0"),
        ({"frames": FRAMES, "actions": np.int64(1)}, "expected one integer"),
        ({"frames": FRAMES, "rewards": np.float32(1)}, "expected one number"),
        ({"frames": FRAMES, "rewards": np.array(["a"] * 4)}, "expected one number"),
        ({"frames": FRAMES, "rewards": np.full(4, np.nan)}, "NaN or infinity"),
        ({"frames": FRAMES, "levels": np.array([1.5])}, "levels are float64"),
        ({"frames": FRAMES, "offsets": np.array([0, 3, 1, 4], np.uint64)}, "do not lead from 0"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path: Path, arrays: dict[str, Any], match: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(UsageError, match=match):
        import_files([tmp_path / "a.npz"], tmp_path / "out")
    assert not (tmp_path / "out" / "dataset.json").exists()


def test_an_unknown_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(UsageError, match=r"ends in \.mp4"):
        import_files([tmp_path / "a.txt"], tmp_path / "out")


def test_one_array_named_npz_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, FRAMES)
    with pytest.raises(UsageError, match="one array"):
        import_files([tmp_path / "a.npz"], tmp_path / "out")


def test_an_action_beyond_the_number_given_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", frames=FRAMES, actions=np.arange(4))
    with pytest.raises(UsageError, match="there are 2"):
        import_files([tmp_path / "a.npz"], tmp_path / "out", actions=2)


def test_hdf5_whose_links_lead_nowhere_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = h5py.SoftLink("/nowhere")
        file["frames"] = h5py.ExternalLink("none.h5", "/frames")
    with pytest.raises(UsageError, match="no array 'frames'"):
        import_files([tmp_path / "a.h5"], tmp_path / "out")


def test_hdf5_with_an_empty_array_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["frames"], file["actions"] = FRAMES, h5py.Empty("i4")
    with pytest.raises(UsageError, match="actions are no array"):
        import_files([tmp_path / "a.h5"], tmp_path / "out")
