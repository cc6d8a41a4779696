from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_genie.config import STTransformerConfig
from wm_agent_genie.st_transformer import STTransformer

N, T, D = 4, 6, 16


def make(*, qk_norm: bool = True, recompute: bool = False) -> STTransformer:
    """6 frames of 4 tokens; weights are wide, so that every position matters."""
    config = STTransformerConfig(layers=2, embedding_dim=D, heads=2, head_dim=4, qk_norm=qk_norm)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        transformer = STTransformer(config, tokens=N, frames=T, recompute=recompute)
        for parameter in transformer.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
    return transformer.eval()


def some(frames: int, seed: int = 0, batch: int = 2) -> Tensor:
    return torch.randn(batch, frames, N, D, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=20)
@given(frame=st.integers(0, T - 1), token=st.integers(0, N - 1), seed=st.integers(0, 100))
def test_a_frame_changes_itself_and_later_frames_everywhere_and_no_earlier_one(
    frame: int, token: int, seed: int
) -> None:
    transformer, x = make(), some(T, seed)
    other = x.clone()
    other[:, frame, token, 0] += 3.0
    with torch.no_grad():
        difference = (transformer(x) - transformer(other)).abs().amax(-1)
    assert float(difference[:, :frame].sum()) == 0
    assert float(difference[:, frame:].min()) > 1e-4


@settings(deadline=None, max_examples=25)
@given(
    cuts=st.lists(st.integers(1, T - 1), unique=True, max_size=4).map(sorted),
    qk_norm=st.booleans(),
    seed=st.integers(0, 100),
)
def test_frames_read_in_parts_through_the_cache_come_out_as_in_one_pass(
    cuts: list[int], qk_norm: bool, seed: int
) -> None:
    transformer, x = make(qk_norm=qk_norm), some(T, seed)
    cache = transformer.new_cache(len(x))
    parts = [
        transformer.extend(x[:, start:end], cache, remember=True)
        for start, end in zip([0, *cuts], [*cuts, T], strict=True)
    ]
    with torch.no_grad():
        whole = transformer(x)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=0)


def test_a_draft_leaves_the_cache_as_it_was() -> None:
    transformer, x = make(), some(4)
    cache = transformer.new_cache(2)
    transformer.extend(x[:, :3], cache, remember=True)
    first = transformer.extend(x[:, 3:], cache, remember=False)
    transformer.extend(some(2, seed=9), cache, remember=False)
    assert cache.length == 3
    assert torch.equal(transformer.extend(x[:, 3:], cache, remember=False), first)


def test_what_is_not_kept_is_read_anew() -> None:
    transformer, x = make(), some(5)
    cache = transformer.new_cache(2)
    transformer.extend(some(5, seed=3), cache, remember=True)
    cache.keep(0)
    with torch.no_grad():
        torch.testing.assert_close(transformer.extend(x, cache, remember=True), transformer(x), atol=1e-5, rtol=0)


def test_recomputed_activations_give_the_same_gradient() -> None:
    gradients = []
    for recompute in (False, True):
        transformer = make(recompute=recompute)
        transformer(some(T)).square().sum().backward()
        gradients.append(transformer.blocks[0].spatial.qkv.weight.grad)
    assert torch.equal(gradients[0], gradients[1])


def test_a_block_has_two_attentions_and_one_feed_forward() -> None:
    d = 32
    block = STTransformer(STTransformerConfig(layers=1, embedding_dim=d, heads=4), tokens=2, frames=2).blocks[0]
    matrices = sum(p.numel() for p in block.parameters() if p.dim() == 2)
    assert matrices == 2 * 4 * d**2 + 8 * d**2


@pytest.mark.parametrize(("qk_norm", "alike"), [(True, True), (False, False)])
def test_with_qk_norm_attention_does_not_depend_on_how_long_queries_and_keys_are(qk_norm: bool, alike: bool) -> None:
    transformer, x = make(qk_norm=qk_norm), some(T)
    with torch.no_grad():
        before = transformer(x)
        for block in transformer.blocks:
            for attention in (block.spatial, block.temporal):
                inner = attention.heads * attention.head_dim
                attention.qkv.weight[: 2 * inner] *= 100
                attention.qkv.bias[: 2 * inner] *= 100
        assert (float((transformer(x) - before).abs().max()) < 1e-3) == alike


def test_heads_may_be_wider_than_the_embedding() -> None:
    """The paper's dynamics model: 36 heads of 128 at d = 5120 (Appendix C)."""
    config = STTransformerConfig(layers=1, embedding_dim=8, heads=3, head_dim=4)
    assert STTransformer(config, tokens=2, frames=2)(torch.zeros(1, 2, 2, 8)).shape == (1, 2, 2, 8)


def test_more_frames_than_it_looks_back_on_are_refused() -> None:
    transformer = make()
    cache = transformer.new_cache(2)
    transformer.extend(some(T), cache, remember=True)
    with pytest.raises(ValueError, match="7 frames of 4 tokens do not fit"):
        transformer.extend(some(1), cache, remember=False)


def test_a_cache_of_another_batch_is_refused() -> None:
    transformer = make()
    with pytest.raises(ValueError, match="for 3 clips, not 2"):
        transformer.extend(some(1), transformer.new_cache(3), remember=True)


def test_an_embedding_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of heads=3"):
        STTransformerConfig(layers=1, embedding_dim=16, heads=3)
