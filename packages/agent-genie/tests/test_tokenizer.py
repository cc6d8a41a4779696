from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.patches import Patches


@settings(deadline=None, max_examples=25)
@given(height=st.integers(1, 13), width=st.integers(1, 13), patch=st.integers(1, 5), channels=st.integers(1, 3))
def test_frames_come_back_from_their_patches_also_where_patches_stand_out(
    height: int, width: int, patch: int, channels: int
) -> None:
    patches = Patches((height, width), channels, patch)
    frames = torch.rand(2, 3, channels, height, width)
    cut = patches.split(frames)
    assert cut.shape == (2, 3, -(-height // patch) * -(-width // patch), channels * patch**2)
    assert torch.equal(patches.join(cut), frames)


def test_a_patch_is_a_square_of_the_picture() -> None:
    frame = torch.arange(24.0).reshape(1, 1, 1, 4, 6)
    assert Patches((4, 6), 1, 2).split(frame)[0, 0, 1].tolist() == [2, 3, 8, 9]


def test_the_papers_frames_of_160x90_are_40x23_tokens_of_patch_4() -> None:
    patches = Patches((90, 160), 3, 4)
    assert (patches.rows, patches.columns) == (23, 40)


def test_frames_of_another_size_are_refused(agent: GenieAgent) -> None:
    with pytest.raises(ValueError, match=r"must be \(B, T, 3, 12, 8\), not \(1, 2, 3, 8, 12\)"):
        agent.tokenizer.encode(torch.zeros(1, 2, 3, 8, 12))


@pytest.mark.parametrize("frame", range(5))
def test_tokens_and_decoded_frames_depend_on_no_later_frame(agent: GenieAgent, clips: Tensor, frame: int) -> None:
    other = clips.clone()
    other[:, frame] = 1 - other[:, frame]
    tokens, other_tokens = agent.tokenizer.encode(clips), agent.tokenizer.encode(other)
    assert torch.equal(tokens[:, :frame], other_tokens[:, :frame])
    assert not torch.equal(tokens[:, frame], other_tokens[:, frame])
    decoded, other_decoded = agent.tokenizer.decode(tokens), agent.tokenizer.decode(other_tokens)
    assert torch.equal(decoded[:, :frame], other_decoded[:, :frame])
    assert not torch.equal(decoded[:, frame], other_decoded[:, frame])


def test_frames_decoded_one_by_one_through_the_cache_are_those_of_one_pass(agent: GenieAgent, clips: Tensor) -> None:
    tokens = agent.tokenizer.encode(clips)
    cache = agent.tokenizer.decoder.new_cache(2)
    one_by_one = torch.cat([agent.tokenizer.decode_next(tokens[:, t : t + 1], cache) for t in range(5)], dim=1)
    torch.testing.assert_close(one_by_one, agent.tokenizer.decode(tokens), atol=1e-5, rtol=0)


def test_decoded_frames_lie_in_0_to_1(agent: GenieAgent, clips: Tensor) -> None:
    decoded = agent.tokenizer.decode(agent.tokenizer.encode(clips))
    assert decoded.shape == clips.shape
    assert 0 <= float(decoded.min()) <= float(decoded.max()) <= 1


def test_the_loss_is_reconstruction_and_a_quarter_of_commitment(agent: GenieAgent, clips: Tensor) -> None:
    loss, metrics = agent.tokenizer.loss(clips)
    reconstructed = agent.tokenizer.decode(agent.tokenizer.encode(clips))
    torch.testing.assert_close(metrics["reconstruction"], (reconstructed - clips).square().mean())
    torch.testing.assert_close(loss.detach(), metrics["reconstruction"] + 0.25 * metrics["commitment"])


def test_training_lowers_the_reconstruction_error(agent: GenieAgent, clips: Tensor) -> None:
    fresh = GenieAgent.from_config(agent.config).tokenizer
    pictures = (clips > 0.5).float()
    before = float(fresh.loss(pictures)[1]["reconstruction"])
    fresh.train()
    optimizer = torch.optim.AdamW(fresh.parameters(), 1e-2)
    for _ in range(60):
        loss, metrics = fresh.loss(pictures, torch.Generator().manual_seed(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(metrics["reconstruction"]) < 0.8 * before
