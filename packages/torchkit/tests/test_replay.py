from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import UsageError
from wm_torchkit.replay import EpisodeReplay

SHAPE = (4, 5, 3)


def frame(value: int) -> np.ndarray:
    return np.full(SHAPE, value % 256, np.uint8)


def make(capacity: int = 100, **options: Any) -> EpisodeReplay:
    options = {"num_actions": 4, **options}
    if options.get("action_dim"):
        del options["num_actions"]
    return EpisodeReplay(SHAPE, capacity, np.random.default_rng(0), **options)


def play(replay: EpisodeReplay, steps: int, first: int = 0, lane: int = 0, ends: str = "terminated") -> None:
    """An episode whose t-th frame is `first + t`, with action t % 4 and reward t on frame t."""
    replay.begin_episode(frame(first), lane)
    for t in range(steps):
        last = t == steps - 1
        terminated, truncated = last and ends == "terminated", last and ends == "truncated"
        replay.add_step(t % 4, float(t), terminated, truncated, frame(first + t + 1), lane)


def first_pixels(frames: Any) -> np.ndarray:
    return frames[..., 0, 0, 0].numpy()


def test_a_step_carries_what_was_seen_before_and_after_it() -> None:
    replay = make()
    play(replay, 5, first=10)
    batch = replay.sample(50, 1)
    before, after = first_pixels(batch.observations)[:, 0], first_pixels(batch.next_observations)[:, 0]
    assert (after == before + 1).all()
    assert (batch.rewards[:, 0].numpy() == before - 10).all()
    assert (batch.actions[:, 0].numpy() == (before - 10) % 4).all()
    assert (batch.is_first[:, 0].numpy() == (before == 10)).all()
    assert (batch.terminated[:, 0].numpy() == (before == 14)).all()
    assert not batch.truncated.any()
    assert set(before.tolist()) == {10, 11, 12, 13, 14}


def test_the_final_observation_is_the_last_next_observation() -> None:
    replay = make()
    play(replay, 3, first=20)
    batch = replay.sample(40, 3)
    ended = batch.terminated
    assert ended.any()
    assert (first_pixels(batch.next_observations)[ended.numpy()] == 23).all()


def test_truncated_is_kept_apart_from_terminated() -> None:
    replay = make()
    play(replay, 2, ends="truncated")
    batch = replay.sample(30, 2)
    assert batch.truncated.any()
    assert not batch.terminated.any()


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    length=st.integers(1, 12),
    padding=st.sampled_from(["left", "right"]),
)
def test_sequences_are_contiguous_and_padded_on_their_side_with_zeros(
    steps: list[int], length: int, padding: Any
) -> None:
    replay = make(200)
    for number, count in enumerate(steps):
        play(replay, count, first=1 + 10 * number)
    batch = replay.sample(8, length, padding)
    assert batch.frames.shape == (8, length + 1, *SHAPE)
    for mask, frames, rewards, ids in zip(
        batch.mask, first_pixels(batch.frames), batch.rewards, batch.frame_ids, strict=True
    ):
        real = int(mask.sum())
        assert real >= 1
        start = 0 if padding == "right" else length - real
        assert mask[start : start + real].all()
        window = slice(start, start + real + 1)
        assert (np.diff(frames[window].astype(int)) == 1).all()
        assert (np.delete(frames, np.arange(length + 1)[window]) == 0).all()
        assert (np.delete(ids.numpy(), np.arange(length + 1)[window]) == -1).all()
        assert (rewards[~mask] == 0).all()
        begins, ends = int(frames[start]) % 10 == 1, frames[start + real] in frame_of_last(steps)
        if real < length:
            assert ends if padding == "right" else begins


def frame_of_last(steps: list[int]) -> list[int]:
    return [1 + 10 * number + count for number, count in enumerate(steps)]


def test_episodes_are_drawn_uniformly_and_not_by_length() -> None:
    replay = make(200)
    play(replay, 1, first=0)
    play(replay, 99, first=100)
    short = (first_pixels(replay.sample(4000, 1).observations)[:, 0] == 0).mean()
    assert abs(short - 0.5) < 0.03


def test_right_padding_draws_the_first_step_and_left_padding_the_last_uniformly() -> None:
    replay = make()
    play(replay, 4)
    right = replay.sample(4000, 3, "right")
    left = replay.sample(4000, 3, "left")
    firsts = np.bincount(first_pixels(right.observations)[:, 0], minlength=4) / 4000
    lasts = np.bincount(first_pixels(left.observations)[:, -1], minlength=4) / 4000
    assert np.abs(firsts - 0.25).max() < 0.04
    assert np.abs(lasts - 0.25).max() < 0.04


def test_weights_by_age_choose_among_episodes() -> None:
    replay = make()
    for number in range(4):
        play(replay, 3, first=10 * number)
    seen = first_pixels(replay.sample(300, 1, weights=lambda e: (e.ids == 2) * 2.5).observations)
    assert (seen // 10 == 2).all()
    seen = first_pixels(replay.sample(300, 1, weights=[0, 1, 0, 1]).observations)
    assert set((seen[:, 0] // 10).tolist()) == {1, 3}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "one an episode"),
        ([-1, 1], "not negative"),
        ([float("nan"), 1], "finite"),
        ([0, 0], "weight 0"),
    ],
)
def test_bad_weights_are_refused(weights: list[float], words: str) -> None:
    replay = make()
    play(replay, 2)
    play(replay, 2)
    with pytest.raises(UsageError, match=words):
        replay.sample(1, 1, weights=weights)


def test_a_stream_spans_episodes_in_the_order_they_were_collected() -> None:
    replay = make()
    play(replay, 3, first=10)
    play(replay, 2, first=20, ends="truncated")
    whole = replay.sample_stream(1, 7)
    assert first_pixels(whole.frames)[0].tolist() == [10, 11, 12, 13, 20, 21, 22]
    assert whole.is_first[0].tolist() == [True, False, False, False, True, False, False]
    assert whole.previous_actions[0].tolist() == [0, 0, 1, 2, 0, 0, 1]
    assert whole.rewards[0].tolist() == [0, 0, 1, 2, 0, 0, 1]
    assert whole.terminated[0].tolist() == [False, False, False, True, False, False, False]
    assert whole.truncated[0].tolist() == [False] * 6 + [True]


def test_streams_start_uniformly_and_keep_to_their_lane() -> None:
    replay = make(lanes=2)
    for _ in range(3):
        play(replay, 4, first=10, lane=0)
        play(replay, 1, first=100, lane=1)
    batch = replay.sample_stream(3000, 2)
    lanes = first_pixels(batch.frames) >= 100
    assert (lanes[:, 0] == lanes[:, 1]).all()
    assert abs(lanes[:, 0].mean() - 5 / 19) < 0.03


def test_an_episode_in_progress_is_sampled_as_far_as_it_has_got() -> None:
    replay = make()
    replay.begin_episode(frame(7))
    with pytest.raises(UsageError, match="no step yet"):
        replay.sample(1, 1)
    replay.add_step(1, 0.5, False, False, frame(8))
    batch = replay.sample(2, 3)
    assert batch.mask.sum(1).tolist() == [1, 1]
    assert not (batch.terminated | batch.truncated).any()
    assert replay.episodes().finished.tolist() == [False]


def test_an_empty_replay_says_that_nothing_can_be_sampled() -> None:
    with pytest.raises(UsageError, match="nothing can be sampled"):
        make().sample(1, 1)
    with pytest.raises(UsageError, match="cannot sample 2 stretches of 5"):
        make().sample_stream(2, 5)


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.integers(1, 11), min_size=1, max_size=30), lanes=st.sampled_from([1, 2, 3]))
def test_capacity_holds_and_the_oldest_episodes_go_whole(steps: list[int], lanes: int) -> None:
    replay = make(36, lanes=lanes)
    for number, count in enumerate(steps):
        play(replay, count, first=number, lane=number % lanes)
        held = replay.episodes()
        assert (held.steps + 1).sum() <= 36
        for lane in range(lanes):
            ids = held.ids[held.ids % lanes == lane]
            assert (np.diff(ids) == lanes).all()
        assert held.steps.tolist() == [steps[i] for i in held.ids]
    batch = replay.sample(16, 4)
    for ids, frames in zip(batch.frame_ids.numpy(), first_pixels(batch.frames), strict=True):
        assert (np.diff(frames[ids >= 0].astype(int)) == 1).all()


def test_frame_ids_are_stable_and_distinct_modulo_capacity() -> None:
    replay = make(20, lanes=2)
    seen: dict[int, int] = {}
    for number in range(12):
        play(replay, 3, first=10 * number, lane=number % 2)
        batch = replay.sample(64, 3)
        for frame_id, pixel in zip(batch.frame_ids.flatten(), first_pixels(batch.frames).flatten(), strict=True):
            if frame_id >= 0:
                assert seen.setdefault(int(frame_id), int(pixel)) == pixel
        live = {int(i) for i in batch.frame_ids.flatten() if i >= 0}
        assert len({i % replay.capacity for i in live}) == len(live)


def test_an_episode_longer_than_the_capacity_is_refused() -> None:
    replay = make(5)
    with pytest.raises(UsageError, match="raise the capacity"):
        play(replay, 5)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.random.rand(*SHAPE).astype(np.float32), r"float32.*\[0, 1\]"),
        (np.zeros((3, 4, 5), np.uint8), r"\(3, 4, 5\)"),
        (np.zeros(SHAPE, np.int64), "int64"),
        ([[0]], "list"),
    ],
)
def test_frames_that_are_not_uint8_images_of_the_shape_are_refused(bad: Any, words: str) -> None:
    replay = make()
    with pytest.raises(UsageError, match=words):
        replay.begin_episode(bad)
    replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match=words):
        replay.add_step(0, 0.0, False, False, bad)


@pytest.mark.parametrize("action", [4, -1, 0.5, [1], True and np.float32(1)])
def test_actions_outside_the_discrete_range_are_refused(action: Any) -> None:
    replay = make()
    replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match="action"):
        replay.add_step(action, 0.0, False, False, frame(1))


def test_continuous_actions_are_stored_and_checked() -> None:
    replay = make(action_dim=2)
    replay.begin_episode(frame(0))
    replay.add_step(np.array([0.25, -1.0]), 0.0, True, False, frame(1))
    assert replay.sample(1, 1).actions.tolist() == [[[0.25, -1.0]]]
    assert replay.sample_stream(1, 2).previous_actions.tolist() == [[[0.0, 0.0], [0.25, -1.0]]]
    replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match="finite floats"):
        replay.add_step(np.array([np.nan, 0.0]), 0.0, False, False, frame(1))
    with pytest.raises(UsageError, match="shape"):
        replay.add_step(np.array([0.0]), 0.0, False, False, frame(1))


def test_rewards_that_are_not_finite_are_refused() -> None:
    replay = make()
    replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match="reward is nan"):
        replay.add_step(0, float("nan"), False, False, frame(1))


def test_steps_out_of_order_are_refused() -> None:
    replay = make()
    with pytest.raises(UsageError, match="no episode in progress"):
        replay.add_step(0, 0.0, False, False, frame(1))
    replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match="has an episode in progress"):
        replay.begin_episode(frame(0))
    with pytest.raises(UsageError, match="no lane 1"):
        replay.begin_episode(frame(0), lane=1)


def test_the_size_is_announced_before_it_is_allocated(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: Any) -> None:
        assert "1000000 steps: up to 11.5 GiB in memory" in caplog.text
        raise MemoryError

    rng = np.random.default_rng(0)
    monkeypatch.setattr("wm_torchkit.replay_storage.np.zeros", no_memory)
    with caplog.at_level(logging.INFO), pytest.raises(UsageError, match=r"needs 11\.5 GiB of memory"):
        EpisodeReplay((64, 64, 3), 1_000_000, rng, num_actions=6)


def test_same_generator_same_samples_and_the_global_state_is_untouched() -> None:
    before = np.random.get_state()[1].copy()
    batches = []
    for _ in range(2):
        replay = make()
        play(replay, 9)
        batches.append(replay.sample(16, 3).frame_ids)
    assert (batches[0] == batches[1]).all()
    assert (np.random.get_state()[1] == before).all()


def test_options_that_contradict_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="num_actions"):
        EpisodeReplay(SHAPE, 10, np.random.default_rng(0))
    with pytest.raises(UsageError, match="num_actions"):
        EpisodeReplay(SHAPE, 10, np.random.default_rng(0), num_actions=2, action_dim=2)
    with pytest.raises(UsageError, match="needs a directory"):
        make(mapped=True)
    with pytest.raises(UsageError, match="2 places a lane"):
        make(3, lanes=2)
    with pytest.raises(UsageError, match="without a directory"):
        make().state_dict()
    replay = make()
    play(replay, 1)
    with pytest.raises(UsageError, match="expected 'left' or 'right'"):
        replay.sample(1, 1, "both")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="batch of 0"):
        replay.sample(0, 1)


def test_vectors_are_stored_beside_frames_or_alone() -> None:
    for shape in (SHAPE, None):
        replay = EpisodeReplay(shape, 20, np.random.default_rng(0), num_actions=4, vector_dim=2)
        pixels = None if shape is None else frame(3)
        replay.begin_episode(pixels, vector=np.array([0.0, 0.5]))
        replay.add_step(1, 2.0, True, False, pixels, next_vector=np.array([1.0, -1.5]))
        batch = replay.sample_stream(3, 2)
        assert batch.vectors.tolist() == [[[0.0, 0.5], [1.0, -1.5]]] * 3
        assert batch.frames.shape == (3, 2, *(shape or (0, 0, 0)))
        assert replay.sample(2, 1).vectors.shape == (2, 2, 2)


def test_frames_alone_have_empty_vectors() -> None:
    replay = make()
    play(replay, 3)
    assert replay.sample_stream(2, 2).vectors.shape == (2, 2, 0)


@pytest.mark.parametrize(
    ("pixels", "vector", "said"),
    [
        (None, np.zeros(2), "without a frame; this replay stores one"),
        (frame(0), None, "without a vector; this replay stores one"),
        (frame(0), np.zeros(3), r"a vector of shape \(3,\); this replay holds \(2,\)"),
        (frame(0), np.array([0.0, np.nan]), "expected finite floats"),
    ],
)
def test_observations_of_another_kind_are_refused(pixels: Any, vector: Any, said: str) -> None:
    replay = EpisodeReplay(SHAPE, 20, np.random.default_rng(0), num_actions=4, vector_dim=2)
    with pytest.raises(UsageError, match=said):
        replay.begin_episode(pixels, vector=vector)


def test_a_vector_is_refused_where_none_is_stored() -> None:
    with pytest.raises(UsageError, match="with a vector; this replay stores none"):
        make().begin_episode(frame(0), vector=np.zeros(2))


def test_a_replay_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="stores frames"):
        EpisodeReplay(None, 20, np.random.default_rng(0), num_actions=4)
