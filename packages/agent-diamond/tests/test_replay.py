"""What each component draws of the stored episodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_diamond.replay import DiamondReplayBuffer, to_images
from wm_core.errors import UsageError


def buffer(
    lengths: Sequence[int] = (6, 2, 3), *, truncated: bool = False, weights: Sequence[float] = (1.0,), cut: bool = False
) -> DiamondReplayBuffer:
    """Episodes of those lengths; each frame's first pixel says which episode (from 1) and which step it is."""
    replay = DiamondReplayBuffer(
        8,
        action_size=3,
        capacity=400,
        rng=np.random.default_rng(0),
        age_weights=weights,
        truncation_is_end=cut,
    )
    for episode, length in enumerate(lengths):
        images = np.random.default_rng(episode).integers(0, 256, (length + 1, 8, 8, 3), np.uint8)
        images[:, 0, 0, 0], images[:, 0, 0, 1] = episode + 1, np.arange(length + 1)
        replay.begin_episode(images[0])
        for t in range(length):
            last = t == length - 1
            replay.add_step(t % 3, float(t + 1), last and not truncated, last and truncated, images[t + 1])
    return replay


def tags(obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which episode and which step each frame is."""
    levels = ((obs[..., 0, 0] + 1) / 2 * 255).round().long()
    return levels[..., 0], levels[..., 1]


@given(st.integers(0, 255))
def test_eight_bits_become_the_range_from_minus_one_to_one(level: int) -> None:
    image = to_images(torch.tensor([level], dtype=torch.uint8))
    assert float(image) == pytest.approx(level / 255 * 2 - 1, abs=1e-6)
    assert int(((image + 1) / 2 * 255).round()) == level


def test_segments_are_padded_with_grey_at_the_left() -> None:
    batch = buffer().segments(64, 4)
    assert not batch.mask.all()
    assert batch.mask[:, -1].all()
    assert (batch.mask[:, :-1] <= batch.mask[:, 1:]).all()
    assert not batch.obs[~batch.mask].any()
    assert not batch.actions[~batch.mask].any()


@pytest.mark.parametrize("final", [False, True])
def test_a_segment_is_consecutive_and_within_one_episode(final: bool) -> None:
    batch = buffer().segments(64, 4, final_frames=final)
    episodes, steps = tags(batch.obs)
    both = batch.mask[:, :-1] & batch.mask[:, 1:]
    assert (episodes[:, 1:] == episodes[:, :-1])[both].all()
    assert (steps[:, 1:] == steps[:, :-1] + 1)[both].all()


@pytest.mark.parametrize(("final", "last"), [(False, {0, 1, 2, 3, 4, 5}), (True, {1, 2, 3, 4, 5, 6})])
def test_segments_end_at_every_frame_acted_on_or_at_every_frame_led_to(final: bool, last: set[int]) -> None:
    _, steps = tags(buffer((6,)).segments(200, 3, final_frames=final).obs)
    assert set(steps[:, -1].tolist()) == last


@pytest.mark.parametrize("final", [False, True])
def test_an_action_stands_at_the_frame_it_was_taken_on(final: bool) -> None:
    batch = buffer((6,)).segments(64, 4, final_frames=final)
    _, steps = tags(batch.obs)
    before = batch.mask[:, :-1]
    assert torch.equal((steps[:, :-1] % 3)[before], batch.actions[:, :-1][before])


def test_transitions_lead_to_the_final_frame() -> None:
    batch = buffer((4,)).transitions(64, 6)
    _, steps = tags(batch.obs)
    ended = batch.ends & batch.mask
    assert ended.any()
    assert (steps[:, 1:][ended] == 4).all()
    assert (steps[:, :-1][ended] == 3).all()
    assert (batch.rewards[batch.mask] == steps[:, :-1][batch.mask] + 1).all()


def test_transitions_are_padded_at_both_sides() -> None:
    batch = buffer((4,)).transitions(64, 3)
    assert (~batch.mask[:, 0]).any()
    assert (~batch.mask[:, -1]).any()
    assert not batch.ends[~batch.mask].any()


def test_a_batch_of_one_has_transitions() -> None:
    assert buffer().transitions(1, 3).actions.shape == (1, 3)


@pytest.mark.parametrize("cut", [False, True])
def test_a_time_limit_counts_as_an_end_only_where_it_is_asked_for(cut: bool) -> None:
    assert bool(buffer((3,), truncated=True, cut=cut).transitions(32, 3).ends.any()) == cut


def chosen(lengths: Sequence[int], weights: Sequence[float]) -> np.ndarray:
    episodes, _ = tags(buffer(lengths, weights=weights).segments(4000, 1).obs)
    return np.bincount(episodes[:, 0].numpy(), minlength=len(lengths) + 1)[1:] / 4000


def test_newest_quarter_is_chosen_seven_times_in_ten() -> None:
    shares = chosen([2] * 8, (0.1, 0.1, 0.1, 0.7))
    np.testing.assert_allclose(shares.reshape(4, 2).sum(1), [0.1, 0.1, 0.1, 0.7], atol=0.03)
    np.testing.assert_allclose(shares.reshape(4, 2)[3], [0.35, 0.35], atol=0.03)


def test_without_age_weights_episodes_are_alike_whatever_their_length() -> None:
    np.testing.assert_allclose(chosen([1, 9, 3], (1.0,)), 1 / 3, atol=0.03)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_any_number_of_episodes_can_be_drawn_from(lengths: list[int], weights: list[float]) -> None:
    batch = buffer(lengths, weights=weights).segments(8, 3)
    assert batch.mask[:, -1].all()


def test_sampling_undisturbed_changes_no_later_sample() -> None:
    replay, other = buffer(), buffer()
    with replay.undisturbed():
        replay.segments(9, 2)
    assert torch.equal(replay.segments(8, 2).obs, other.segments(8, 2).obs)


def test_nothing_to_sample_is_an_error() -> None:
    with pytest.raises(UsageError, match="holds no step"):
        buffer(()).segments(1, 1)
