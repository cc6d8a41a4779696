"""The shard format: what is written is read again, and clips never cross episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_genie.data.format import Manifest
from wm_agent_genie.data.reader import VideoDataset
from wm_agent_genie.data.validate import validate
from wm_agent_genie.data.writer import DatasetWriter
from wm_core.errors import UsageError


def write(directory: Path, lengths: list[int], *, levels: bool = False, shard_bytes: int = 60) -> Manifest:
    """Episode e, frame t shows the colour (e, t, 0) on 2x3 pixels; the action after it is t % 4, its reward t."""
    writer = DatasetWriter(directory, source="test", shard_bytes=shard_bytes)
    for episode, length in enumerate(lengths):
        frames = np.zeros((length, 2, 3, 3), np.uint8)
        frames[..., 0] = episode
        frames[..., 1] = np.arange(length)[:, None, None]
        steps = np.arange(length - 1)
        writer.add(frames, steps % 4, steps.astype(np.float32), level=episode % 3 if levels else None)
    return writer.finish()


@settings(deadline=None, max_examples=30)
@given(
    lengths=st.lists(st.integers(2, 9), min_size=1, max_size=8),
    length=st.integers(2, 9),
    seed=st.integers(0, 2**32),
    shard_bytes=st.integers(1, 400),
)
def test_clips_never_cross_episodes(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], length: int, seed: int, shard_bytes: int
) -> None:
    directory = tmp_path_factory.mktemp("clips")
    write(directory, lengths, shard_bytes=shard_bytes)
    dataset = VideoDataset(directory)
    if length > max(lengths):
        with pytest.raises(UsageError, match="no episode of"):
            dataset.sample(np.random.default_rng(seed), 8, length)
        return
    for clips in (dataset.sample(np.random.default_rng(seed), 8, length), dataset.windows(length)):
        assert clips.actions is not None
        episodes, times = clips.frames[:, :, 0, 0, 0], clips.frames[:, :, 0, 0, 1].astype(int)
        assert (episodes == episodes[:, :1]).all()
        assert (np.diff(times, axis=1) == 1).all()
        np.testing.assert_array_equal(clips.actions, times[:, :-1] % 4)


@settings(deadline=None, max_examples=30)
@given(lengths=st.lists(st.integers(2, 9), min_size=1, max_size=8), length=st.integers(2, 9))
def test_each_transition_of_an_episode_that_holds_a_clip_is_taken_once(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], length: int
) -> None:
    directory = tmp_path_factory.mktemp("transitions")
    write(directory, lengths)
    expected = [(e, t) for e, frames in enumerate(lengths) if frames >= length for t in range(frames - 1)]
    if not expected:
        with pytest.raises(UsageError, match="no episode of"):
            VideoDataset(directory).transitions(length)
        return
    clips, new = VideoDataset(directory).transitions(length)
    before = clips.frames[:, :-1, 0, 0][new]
    assert [(int(e), int(t)) for e, t, _ in before] == expected
    first, marks = VideoDataset(directory).transitions(length, 3)
    assert marks.sum() >= min(3, len(expected))
    np.testing.assert_array_equal(first.frames, clips.frames[: len(first.frames)])


def test_every_place_where_a_clip_fits_is_drawn(tmp_path: Path) -> None:
    write(tmp_path, [4, 2, 5])
    frames = VideoDataset(tmp_path).sample(np.random.default_rng(0), 400, 3).frames[:, 0, 0, 0]
    assert {(int(e), int(t)) for e, t, _ in frames} == {(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)}


def test_episodes_lie_whole_in_their_shards_and_are_read_from_them(tmp_path: Path) -> None:
    manifest = write(tmp_path, [2, 3, 4, 2])
    assert len(manifest.shards) > 1
    dataset = VideoDataset(tmp_path)
    for episode, length in enumerate([2, 3, 4, 2]):
        frames = dataset.episode(episode).frames[0]
        assert frames.shape == (length, 2, 3, 3)
        assert (frames[..., 0] == episode).all()


def test_held_out_episodes_are_the_same_each_time_and_in_no_training_clip(tmp_path: Path) -> None:
    write(tmp_path, [3] * 20)
    training, held_out = VideoDataset(tmp_path).split(0.25)
    again = VideoDataset(tmp_path).split(0.25)[1]
    assert len(held_out.episodes) == 5
    np.testing.assert_array_equal(held_out.episodes, again.episodes)
    drawn = training.sample(np.random.default_rng(0), 500, 2).frames[:, 0, 0, 0, 0]
    assert not set(drawn.tolist()) & set(held_out.episodes.tolist())


def test_a_split_by_level_holds_out_whole_levels(tmp_path: Path) -> None:
    write(tmp_path, [3] * 12, levels=True)
    training, held_out = VideoDataset(tmp_path).split(0.3, "level")
    assert {int(e) % 3 for e in held_out.episodes}.isdisjoint({int(e) % 3 for e in training.episodes})
    assert len(training.episodes) + len(held_out.episodes) == 12


def test_a_split_by_level_needs_levels(tmp_path: Path) -> None:
    write(tmp_path, [3] * 4)
    with pytest.raises(UsageError, match="does not say which level"):
        VideoDataset(tmp_path).split(0.3, "level")


def test_a_whole_dataset_is_valid(tmp_path: Path) -> None:
    written = write(tmp_path, [2, 5, 3], levels=True)
    assert validate(tmp_path) == written
    assert written.mean_return == pytest.approx((0 + 6 + 1) / 3)


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    write(tmp_path, [2, 5, 3])
    shard = tmp_path / "frames-00000.npy"
    shard.write_bytes(shard.read_bytes()[:-5])
    actions = np.load(tmp_path / "actions.npy")
    actions[0] = 9
    np.save(tmp_path / "actions.npy", actions)
    with pytest.raises(UsageError, match=r"frames-00000\.npy cannot be read.*actions\.npy holds 0\.\.9"):
        validate(tmp_path)


def test_a_missing_dataset_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wmbench dataset collect"):
        VideoDataset(tmp_path / "none")


def test_a_dataset_is_not_written_over(tmp_path: Path) -> None:
    write(tmp_path, [3])
    with pytest.raises(UsageError, match="already holds a dataset"):
        DatasetWriter(tmp_path, source="test")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    write(tmp_path, [3])
    np.save(tmp_path / "actions.npy", np.array([{"a": 1}, 2, 3], object), allow_pickle=True)
    with pytest.raises(UsageError, match="cannot be read"):
        VideoDataset(tmp_path).windows(2)


@pytest.mark.parametrize(
    ("frames", "match"),
    [
        (np.zeros((1, 4, 4, 3), np.uint8), "T >= 2"),
        (np.zeros((3, 4, 4, 3), np.float32), "float32"),
        (np.zeros((3, 4, 4, 2), np.uint8), "C of 1 or 3"),
    ],
)
def test_what_is_no_episode_is_refused(tmp_path: Path, frames: np.ndarray, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        DatasetWriter(tmp_path, source="test").add(frames)


def test_frames_of_two_shapes_are_refused(tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path, source="test")
    writer.add(np.zeros((3, 4, 4, 3), np.uint8))
    with pytest.raises(UsageError, match="resize them to one shape"):
        writer.add(np.zeros((3, 4, 5, 3), np.uint8))


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be made"):
        DatasetWriter(tmp_path / "file", source="test")


@pytest.mark.parametrize("name", ["episodes.npy", "actions.npy", "frames-00000.npy"])
def test_a_file_of_another_dataset_is_refused_when_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, [4, 5], shard_bytes=1000)
    np.save(tmp_path / name, np.zeros(2, np.int64))
    with pytest.raises(UsageError, match=name):
        VideoDataset(tmp_path).windows(4)


def test_an_archive_in_place_of_an_array_is_damage(tmp_path: Path) -> None:
    write(tmp_path, [4, 5])
    with (tmp_path / "actions.npy").open("wb") as file:
        np.savez(file, a=np.zeros(1))
    with pytest.raises(UsageError, match=r"actions\.npy is no array"):
        validate(tmp_path)
    with pytest.raises(UsageError, match="several arrays"):
        VideoDataset(tmp_path).windows(4)


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no text"):
        VideoDataset(tmp_path)


def test_a_directory_that_another_writes_is_refused(tmp_path: Path) -> None:
    first = DatasetWriter(tmp_path, source="first")
    with pytest.raises(UsageError, match="another process is writing"):
        DatasetWriter(tmp_path, source="second")
    first.add(np.zeros((2, 4, 4, 3), np.uint8))
    assert first.finish().source == "first"
