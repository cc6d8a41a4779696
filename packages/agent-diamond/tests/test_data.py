"""Own episodes: what is read, what is refused, what is pointed out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wm_agent_diamond.data.command import check
from wm_agent_diamond.data.episode import Episode, checked
from wm_agent_diamond.data.loading import load_episodes
from wm_agent_diamond.data.readers import read_episodes
from wm_agent_diamond.data.validation import validate
from wm_agent_diamond.replay import DiamondReplayBuffer
from wm_core.errors import UsageError


def arrays(steps: int = 5, seed: int = 0, size: tuple[int, int] = (16, 16)) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "frames": rng.integers(0, 256, (steps + 1, *size, 3), np.uint8),
        "actions": rng.integers(0, 3, steps),
        "rewards": rng.integers(-1, 2, steps).astype(np.float32),
        "terminated": np.array(True),
    }


def write_video(path: Path, frames: np.ndarray) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=15)
        stream.height, stream.width, stream.pix_fmt = frames.shape[1], frames.shape[2], "bgr0"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="bgr0")))
        container.mux(stream.encode())


def equal(episode: Episode, expected: dict[str, Any]) -> bool:
    return (
        np.array_equal(episode.frames, expected["frames"])
        and np.array_equal(episode.actions, expected["actions"])
        and np.array_equal(episode.rewards, expected["rewards"])
        and episode.terminated == bool(expected["terminated"])
    )


def test_npz_is_read_as_it_was_written(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", **arrays())
    (episode,) = read_episodes(tmp_path / "a.npz")
    assert equal(episode, arrays())


def test_hdf5_holds_an_episode_or_one_a_group(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file.update(arrays())
    with h5py.File(tmp_path / "two.hdf5", "w") as file:
        for i in range(2):
            file.create_group(f"episode-{i}").update(arrays(seed=i))
    (one,) = read_episodes(tmp_path / "one.h5")
    first, second = read_episodes(tmp_path / "two.hdf5")
    assert equal(one, arrays())
    assert equal(first, arrays(seed=0))
    assert equal(second, arrays(seed=1))


def test_a_lossless_video_and_its_table_are_an_episode(tmp_path: Path) -> None:
    expected = arrays()
    write_video(tmp_path / "clip.mkv", expected["frames"])
    steps = zip(expected["actions"], expected["rewards"], strict=True)
    rows = [f"{action},{reward:.0f},{int(i == 4)}" for i, (action, reward) in enumerate(steps)]
    (tmp_path / "clip.csv").write_text("\n".join(["action,reward,terminated", *rows]))
    (episode,) = read_episodes(tmp_path / "clip.mkv")
    assert equal(episode, expected)


def test_a_directory_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for i, name in enumerate(("b", "a/z", "c")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.savez(tmp_path / f"{name}.npz", **arrays(steps=i + 1))
    assert [episode.steps for episode in read_episodes(tmp_path)] == [2, 1, 3]


def test_rewards_and_end_may_be_missing() -> None:
    episode = checked("e", frames=arrays()["frames"], actions=arrays()["actions"])
    assert episode.rewards.tolist() == [0.0] * 5
    assert not episode.terminated


def test_grey_frames_are_repeated() -> None:
    grey = arrays()["frames"][..., 0]
    episode = checked("e", frames=grey, actions=arrays()["actions"])
    assert all(np.array_equal(episode.frames[..., channel], grey) for channel in range(3))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("frames", np.zeros((6, 16, 16, 3), np.float32), "frames of float32; expected uint8"),
        ("frames", np.zeros((6, 16, 16, 4), np.uint8), r"frames of shape \(6, 16, 16, 4\)"),
        ("frames", np.zeros((1, 16, 16, 3), np.uint8), "1 frame"),
        ("frames", None, "no 'frames'"),
        ("actions", None, "no 'actions'"),
        ("actions", np.zeros(5), "actions of float64; expected integers"),
        ("actions", np.zeros(6, np.int64), r"actions of shape \(6,\) for 6 frames; expected \(5,\)"),
        ("actions", np.full(5, -1), "an action of -1"),
        ("actions", np.full(5, 1_073_741_904), "an action of 1073741904, and they are below 65536"),
        ("rewards", np.array([0, 0, np.nan, 0, 0]), "a reward that is not finite, at step 2"),
        ("rewards", np.zeros(4), r"rewards of shape \(4,\)"),
        ("terminated", np.zeros(5, bool), r"terminated of shape \(5,\)"),
        ("reward", np.zeros(5), "unknown reward"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused_by_name(name: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError, match=f"clip 7: {said}"):
        checked("clip 7", **{**arrays(), name: value})


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 6), st.integers(0, 8), st.integers(0, 8))
def test_only_one_action_fewer_than_frames_is_accepted(steps: int, actions: int, rewards: int) -> None:
    frames = np.zeros((steps + 1, 2, 2, 3), np.uint8)
    if actions == rewards == steps:
        assert checked("e", frames=frames, actions=np.zeros(actions, int), rewards=np.zeros(rewards)).steps == steps
    else:
        with pytest.raises(UsageError, match=f"for {steps + 1} frames"):
            checked("e", frames=frames, actions=np.zeros(actions, int), rewards=np.zeros(rewards))


@pytest.mark.parametrize("name", ["cut.npz", "cut.h5", "cut.mp4"])
def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"nothing of the kind")
    (tmp_path / "cut.csv").write_text("action\n1\n")
    with pytest.raises(UsageError, match=name):
        list(read_episodes(tmp_path / name))


@settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.parametrize("name", ["whole.npz", "whole.h5", "whole.mkv"])
def test_a_damaged_file_is_read_or_refused_by_name(tmp_path: Path, name: str, data: st.DataObject) -> None:
    whole, damaged = tmp_path / name, tmp_path / name.replace("whole", "damaged")
    if not whole.exists():
        write_whole(whole)
        damaged.with_suffix(".csv").write_text("action\n" + "1\n" * 5)
    content = bytearray(whole.read_bytes())
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)))):
        content[place] = value
    damaged.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        said = " ".join(episode.source for episode in read_episodes(damaged))
    except UsageError as error:
        said = str(error)
    assert "damaged" in said
    assert "\n" not in said


def write_whole(path: Path) -> None:
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays())
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            group = file.create_group("0")
            for name, value in arrays().items():
                group.create_dataset(name, data=value, compression="gzip" if np.ndim(value) else None)
    else:
        write_video(path, arrays()["frames"])


def test_a_group_within_an_episode_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "deep.h5", "w") as file:
        file.create_group("run/episode").update(arrays())
    with pytest.raises(UsageError, match=r"deep\.h5/run: a group 'episode' in an episode"):
        list(read_episodes(tmp_path))


def test_a_table_that_begins_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    write_video(tmp_path / "clip.mkv", arrays()["frames"])
    (tmp_path / "clip.csv").write_text("action\n" + "1\n" * 5, encoding="utf-8-sig")
    (episode,) = read_episodes(tmp_path)
    assert episode.actions.tolist() == [1] * 5


def test_pickled_arrays_are_not_executed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", frames=np.array([{"a": 1}], object), actions=arrays()["actions"])
    with pytest.raises(UsageError, match="no file of plain arrays"):
        list(read_episodes(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "its actions are missing"),
        ("reward\n1\n", "columns reward; expected action"),
        ("action,colour\n1,2\n", "expected action"),
        ("action\n1\nleft\n", "line 3: action is 'left'"),
        ("", "columns nothing"),
    ],
)
def test_a_video_without_a_fit_table_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    write_video(tmp_path / "clip.mkv", arrays()["frames"])
    if text is not None:
        (tmp_path / "clip.csv").write_text(text)
    with pytest.raises(UsageError, match=said):
        list(read_episodes(tmp_path))


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no episodes"):
        list(read_episodes(tmp_path))
    with pytest.raises(UsageError, match="no episodes at"):
        list(read_episodes(tmp_path / "none.npz"))
    (tmp_path / "a.txt").touch()
    with pytest.raises(UsageError, match=r"cannot read '\.txt'"):
        list(read_episodes(tmp_path / "a.txt"))


def test_the_validator_counts_and_names_every_fault(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **arrays())
    np.savez(tmp_path / "bad.npz", **{**arrays(), "actions": np.zeros(9, int)})
    np.savez(tmp_path / "worse.npz", frames=arrays()["frames"])
    found = validate(tmp_path)
    assert (found.episodes, found.steps, found.terminated) == (1, 5, 1)
    assert [Path(fault.split(":")[0]).name for fault in found.faults] == ["bad.npz", "worse.npz"]


def test_the_validator_points_out_what_cannot_be_learned(tmp_path: Path) -> None:
    still = np.zeros((9, 16, 16, 3), np.uint8)
    np.savez(tmp_path / "a.npz", frames=still, actions=np.array([0, 2] * 4))
    warnings = " ".join(validate(tmp_path).warnings())
    for said in (
        "actions 1 are never taken",
        "8 of 8 steps change no pixel",
        "no reward",
        "never end",
        "8 steps are few",
    ):
        assert said in warnings


def test_of_many_actions_never_taken_the_first_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{**arrays(), "actions": np.full(5, 60_000)})
    (said,) = (line for line in validate(tmp_path).warnings() if "never" in line and "actions" in line)
    assert "0, 1, 2" in said
    assert "and 59980 more" in said


def test_the_command_says_what_is_wrong_and_fails(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **arrays())
    fine = CliRunner().invoke(check, [str(tmp_path)], standalone_mode=False)
    assert fine.return_value == 0
    assert "1 episodes, 5 steps, 1 terminated" in fine.output
    (tmp_path / "bad.npz").write_bytes(b"")
    broken = CliRunner().invoke(check, [str(tmp_path)], standalone_mode=False)
    assert broken.return_value == 2
    assert "wrong: " in broken.output


def buffer(capacity: int = 100) -> DiamondReplayBuffer:
    return DiamondReplayBuffer(16, action_size=3, capacity=capacity, rng=np.random.default_rng(0))


def test_episodes_go_into_the_replay_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays())
    replay = buffer()
    loaded = load_episodes(tmp_path, replay, 16, 3)
    assert (loaded.episodes, loaded.steps, replay.num_steps) == (1, 5, 5)
    batch = replay.episodes.sample(1, 5, "left", None)
    while int(batch.mask.sum()) < 5:
        batch = replay.episodes.sample(1, 5, "left", None)
    assert np.array_equal(batch.frames[0].numpy(), arrays()["frames"])
    assert batch.terminated[0].tolist() == [False] * 4 + [True]


def test_other_data_has_another_digest(tmp_path: Path) -> None:
    digests = []
    for seed in (0, 0, 1):
        np.savez(tmp_path / "a.npz", **arrays(seed=seed))
        digests.append(load_episodes(tmp_path, buffer(), 16, 3).sha256)
    assert digests[0] == digests[1] != digests[2]


def test_what_does_not_fit_the_replay_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays(steps=9))
    with pytest.raises(UsageError, match=r"raise training\.collection\.replay_capacity"):
        load_episodes(tmp_path, buffer(9), 16, 3)
    with pytest.raises(UsageError, match=r"the action 2, and there are 2"):
        load_episodes(tmp_path, buffer(), 16, 2)
