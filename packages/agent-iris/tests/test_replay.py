"""What each component draws of the stored episodes, and what is computed once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from iris_configs import SMALL
from torch import Tensor

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.frame_cache import FrameCache
from wm_agent_iris.observations import to_channels_first
from wm_agent_iris.replay import IRISReplayBuffer
from wm_core.errors import UsageError


def frames(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 16, 16, 3), np.uint8)


def buffer(agent: IRISAgent, lengths: tuple[int, ...] = (6, 2, 3), truncated: bool = False) -> IRISReplayBuffer:
    """Episodes of those lengths; each frame's first pixel says which episode and which step it is."""
    replay = IRISReplayBuffer(agent.tokenizer, action_size=3, capacity=100, rng=np.random.default_rng(0))
    for episode, length in enumerate(lengths):
        images = frames(length + 1, episode)
        images[:, 0, 0, 0], images[:, 0, 0, 1] = episode, np.arange(length + 1)
        replay.begin_episode(images[0])
        for t in range(length):
            last = t == length - 1
            replay.add_step(t % 3, float(t), last and not truncated, last and truncated, images[t + 1])
    return replay


def counted(agent: IRISAgent, method: str) -> list[int]:
    """Numbers of frames of each later call of the tokenizer's `method`."""
    calls: list[int] = []
    original: Callable[[Tensor], Tensor] = getattr(agent.tokenizer, method)

    def counting(given: Tensor) -> Tensor:
        calls.append(len(given))
        return original(given)

    setattr(agent.tokenizer, method, counting)
    return calls


def test_the_tokenizer_is_given_single_frames(agent: IRISAgent) -> None:
    batch = buffer(agent).tokenizer_batch(5)
    assert batch.shape == (5, 3, 16, 16)
    assert batch.dtype == torch.uint8


def test_the_world_model_is_given_tokens_of_what_the_tokenizer_sees(agent: IRISAgent) -> None:
    replay = buffer(agent)
    with replay.undisturbed():
        images, actions = replay.frames(8, 4)
    batch = replay.world_model_batch(8, 4)
    expected = agent.tokenizer.encode(images[batch.mask])
    assert torch.equal(batch.tokens[batch.mask], expected)
    assert torch.equal(batch.actions, actions)
    assert not batch.tokens[~batch.mask].any()


def test_world_model_sequences_are_padded_at_the_right(agent: IRISAgent) -> None:
    mask = buffer(agent).world_model_batch(32, 4).mask
    assert not mask.all()
    assert mask[:, 0].all()
    assert (mask[:, :-1] >= mask[:, 1:]).all()


@pytest.mark.parametrize("truncated", [False, True])
def test_an_episode_cut_short_counts_as_ended(agent: IRISAgent, truncated: bool) -> None:
    batch = buffer(agent, (3,), truncated).world_model_batch(16, 3)
    assert torch.equal(batch.ends & batch.mask, batch.mask & (batch.rewards == 2))
    assert batch.ends.any()


def test_the_policy_begins_at_the_last_frame_after_those_before_it(agent: IRISAgent) -> None:
    replay = buffer(agent, (5,))
    before = replay.episodes._rng.bit_generator.state
    context = replay.actor_critic_batch(16, 3)
    replay.episodes._rng.bit_generator.state = before
    sampled = replay.episodes.sample(16, 4, "left")
    assert (context.mask[:, :-1] <= context.mask[:, 1:]).all()
    assert torch.equal(context.tokens, agent.tokenizer.encode(to_channels_first(sampled.observations[:, -1])))
    torch.testing.assert_close(context.frames, agent.tokenizer.decode(context.tokens), rtol=0, atol=1 / 65535)
    real = sampled.mask[:, :-1]
    seen = agent.tokenizer.reconstruct(to_channels_first(sampled.observations[:, :-1][real]))
    torch.testing.assert_close(context.burn_in[real], seen, rtol=0, atol=1 / 65535)
    assert not context.burn_in[~real].any()


def test_a_frame_is_encoded_and_decoded_once_while_the_tokenizer_does_not_change(agent: IRISAgent) -> None:
    replay = buffer(agent)
    encoded, decoded = counted(agent, "encode"), counted(agent, "decode")
    for _ in range(10):
        replay.actor_critic_batch(16, 3)
        replay.world_model_batch(16, 3)
    frames_stored = 11
    assert frames_stored <= sum(encoded) <= frames_stored + 7 * len(encoded)
    assert frames_stored <= sum(decoded) <= frames_stored + 7 * len(decoded)
    encoded.clear()
    replay.world_model_batch(16, 3)
    assert encoded == []


def test_a_changed_tokenizer_gives_new_tokens(agent: IRISAgent) -> None:
    replay = buffer(agent, (1,))
    old = replay.actor_critic_batch(2, 1)
    with torch.no_grad():
        agent.tokenizer.quantizer.codebook.copy_(agent.tokenizer.quantizer.codebook.roll(1, 0))
    replay.tokenizer_changed()
    new = replay.actor_critic_batch(2, 1)
    assert torch.equal(new.tokens, (old.tokens + 1) % 12)


def test_sampling_undisturbed_changes_no_later_sample(agent: IRISAgent) -> None:
    replay, other = buffer(agent), buffer(agent)
    with replay.undisturbed():
        replay.frames(9, 2)
    assert torch.equal(replay.tokenizer_batch(8), other.tokenizer_batch(8))


def test_nothing_to_sample_is_an_error(agent: IRISAgent) -> None:
    replay = IRISReplayBuffer(agent.tokenizer, action_size=3, capacity=9, rng=np.random.default_rng(0))
    with pytest.raises(UsageError):
        replay.tokenizer_batch(1)


@settings(deadline=None, max_examples=12)
@given(
    st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=9), min_size=1, max_size=4),
    st.integers(0, 30),
    st.sets(st.integers(0, 5)),
)
def test_however_small_the_cache_it_gives_the_bits_of_an_empty_one(
    reads: list[list[int]], places: int, cleared: set[int]
) -> None:
    """What is cached, what is beside a frame and what was read before change no bit: so a resume is exact."""
    tokenizer = _TOKENIZER
    images = torch.from_numpy(frames(30))
    cache = FrameCache(tokenizer, 30, places)
    for number, read in enumerate(reads):
        if number in cleared:
            cache.clear()
        ids = np.array(read)
        empty = FrameCache(tokenizer, 30, 0)
        alone = torch.cat([empty.reconstructions(ids[i : i + 1], images[ids[i : i + 1]]) for i in range(len(ids))])
        assert torch.equal(cache.reconstructions(ids, images[ids]), alone)
        assert torch.equal(cache.tokens(ids, images[ids]), tokenizer.encode(to_channels_first(images[ids])))


def _tokenizer() -> torch.nn.Module:
    return IRISAgent.from_config(SMALL, action_size=3, seed=4).tokenizer


_TOKENIZER = _tokenizer()
