from __future__ import annotations

import logging

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_iris.config import ComputeConfig, WorldModelConfig
from wm_agent_iris.world_model.cache import KVCache
from wm_agent_iris.world_model.transformer import GeneratedStep, IRISTransformer

K, N, A = 3, 7, 4


def make(timesteps: int = 4, dropout: float = 0.1, compute: ComputeConfig | None = None) -> IRISTransformer:
    """3 tokens a frame out of 7, 4 actions; its weights are wide, so that every position matters."""
    config = WorldModelConfig(
        timesteps=timesteps,
        embedding_dim=16,
        layers=2,
        heads=2,
        embedding_dropout=dropout,
        attention_dropout=dropout,
        residual_dropout=dropout,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        transformer = IRISTransformer(config, vocabulary_size=N, tokens_per_frame=K, action_size=A, compute=compute)
        for parameter in transformer.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return transformer.eval()


def random_tokens(generator: torch.Generator, batch: int, steps: int) -> tuple[Tensor, Tensor]:
    tokens = torch.randint(N, (batch, steps, K), generator=generator)
    return tokens, torch.randint(A, (batch, steps), generator=generator)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), changed=st.integers(0, 4 * (K + 1) - 1))
def test_a_later_token_or_action_leaves_earlier_outputs_untouched(seed: int, changed: int) -> None:
    transformer = make()
    tokens, actions = random_tokens(torch.Generator().manual_seed(seed), 2, 4)
    step, slot = divmod(changed, K + 1)
    other_tokens, other_actions = tokens.clone(), actions.clone()
    if slot < K:
        other_tokens[:, step, slot] = (tokens[:, step, slot] + 1) % N
    else:
        other_actions[:, step] = (actions[:, step] + 1) % A
    with torch.no_grad():
        before, after = transformer.hidden(tokens, actions), transformer.hidden(other_tokens, other_actions)
    assert torch.equal(before[:, :changed], after[:, :changed])
    assert not torch.allclose(before[:, changed:], after[:, changed:], atol=1e-3)
    assert bool((before[:, changed] - after[:, changed]).abs().amax(-1).gt(1e-4).all())


def test_every_position_looks_back_on_the_first_token() -> None:
    transformer = make()
    tokens, actions = random_tokens(torch.Generator().manual_seed(0), 1, 4)
    other = tokens.clone()
    other[:, 0, 0] = (tokens[:, 0, 0] + 1) % N
    with torch.no_grad():
        difference = (transformer.hidden(tokens, actions) - transformer.hidden(other, actions)).abs().amax(-1)
    assert float(difference.min()) > 1e-4


class Window:
    """What the cache should stand for, kept as plain tokens and actions, with the rule past the limit."""

    def __init__(self, transformer: IRISTransformer, tokens: Tensor, actions: Tensor) -> None:
        self.transformer = transformer
        limit = transformer.config.timesteps
        self.tokens, self.actions = tokens[:, -limit:], actions[:, max(0, actions.shape[1] - limit + 1) :]

    def act(self, actions: Tensor) -> None:
        limit = self.transformer.config.timesteps
        if self.tokens.shape[1] == limit:
            keep = limit // 2
            self.tokens = self.tokens[:, -keep:]
            self.actions = self.actions[:, self.actions.shape[1] - keep + 1 :]
        self.actions = torch.cat([self.actions, actions[:, None]], dim=1)

    def see(self, frame: Tensor) -> None:
        self.tokens = torch.cat([self.tokens, frame[:, None]], dim=1)

    def rewards_and_ends(self) -> tuple[Tensor, Tensor]:
        """Of the newest action, by a full pass."""
        output = self.transformer(self.tokens, self.actions)
        return output.rewards[:, -1], output.ends[:, -1]

    def token_logits(self) -> Tensor:
        """Those of the newest frame, (B, K, N), by a full pass with a last action of any kind."""
        padded = torch.cat([self.actions, torch.zeros_like(self.actions[:, :1])], dim=1)
        observations = self.transformer(self.tokens, padded).observations
        last = self.tokens.shape[1] - 1
        return observations[:, last * K - 1 : (last + 1) * K - 1]


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    batch=st.integers(1, 3),
    timesteps=st.integers(2, 5),
    primed=st.integers(1, 6),
    generated=st.integers(1, 9),
)
def test_cached_and_full_passes_agree_at_every_position_and_past_the_limit(
    seed: int, batch: int, timesteps: int, primed: int, generated: int
) -> None:
    transformer = make(timesteps)
    generator = torch.Generator().manual_seed(seed)
    tokens, actions = random_tokens(generator, batch, primed)
    cache = transformer.init_cache(batch)
    transformer.prime_cache(cache, tokens, actions[:, :-1])
    window = Window(transformer, tokens, actions[:, :-1])
    with torch.no_grad():
        for _ in range(generated):
            chosen = torch.randint(A, (batch,), generator=generator)
            step = transformer.generate_frame_cached(cache, chosen, generator)
            window.act(chosen)
            rewards, ends = window.rewards_and_ends()
            assert torch.allclose(step.rewards, rewards, atol=1e-5)
            assert torch.allclose(step.ends, ends, atol=1e-5)
            assert step.tokens is not None
            assert step.observations is not None
            window.see(step.tokens)
            assert torch.allclose(step.observations, window.token_logits(), atol=1e-5)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000), primed=st.integers(1, 4))
def test_reward_and_end_without_the_next_frame_are_those_of_the_full_window(seed: int, primed: int) -> None:
    transformer = make(timesteps=4)
    tokens, actions = random_tokens(torch.Generator().manual_seed(seed), 2, primed)
    cache = transformer.init_cache(2)
    transformer.prime_cache(cache, tokens, actions[:, :-1])
    step = transformer.generate_frame_cached(cache, actions[:, -1], with_frame=False)
    with torch.no_grad():
        output = transformer(tokens, actions)
    assert step.tokens is None
    assert torch.allclose(step.rewards, output.rewards[:, -1], atol=1e-5)
    assert torch.allclose(step.ends, output.ends[:, -1], atol=1e-5)


def test_the_papers_horizon_fits_into_the_context() -> None:
    """20 frames with their actions: 19 generated ones and the first; nothing is dropped."""
    transformer = make(timesteps=20)
    generator = torch.Generator().manual_seed(0)
    cache = transformer.init_cache(1)
    transformer.prime_cache(cache, torch.zeros(1, 1, K, dtype=torch.long))
    for i in range(20):
        transformer.generate_frame_cached(cache, torch.tensor([i % A]), generator, with_frame=i < 19)
    assert cache.length == 20 * (K + 1)
    assert cache.actions[0].tolist() == [i % A for i in range(20)]


def test_a_frame_takes_as_many_passes_as_it_has_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = make()
    cache = transformer.init_cache(1)
    transformer.prime_cache(cache, torch.zeros(1, 1, K, dtype=torch.long))
    widths: list[int] = []
    extend = transformer._extend

    def counted(cache: KVCache, x: Tensor) -> Tensor:
        widths.append(x.shape[1])
        return extend(cache, x)

    monkeypatch.setattr(transformer, "_extend", counted)
    transformer.generate_frame_cached(cache, torch.tensor([0]), torch.Generator().manual_seed(0))
    assert widths == [2] + [1] * (K - 1)


def test_a_sampled_token_changes_the_logits_of_the_next_one() -> None:
    """Two dreams alike but for the noise: where a token differs, what follows it in the frame differs."""
    transformer = make()
    dreams = []
    for seed in range(20):
        cache = transformer.init_cache(1)
        transformer.prime_cache(cache, torch.zeros(1, 1, K, dtype=torch.long))
        dreams.append(
            transformer.generate_frame_cached(
                cache, torch.tensor([1]), torch.Generator().manual_seed(seed), temperature=3.0
            )
        )
    first = dreams[0]
    assert first.tokens is not None
    assert first.observations is not None
    other = next(d for d in dreams if d.tokens is not None and d.tokens[0, 0] != first.tokens[0, 0])
    assert other.observations is not None
    assert torch.equal(first.observations[:, 0], other.observations[:, 0])
    assert not torch.allclose(first.observations[:, 1], other.observations[:, 1], atol=1e-3)


def test_tokens_are_drawn_from_their_logits() -> None:
    transformer = make()
    cache = transformer.init_cache(4000)
    transformer.prime_cache(cache, torch.zeros(4000, 1, K, dtype=torch.long))
    actions = torch.zeros(4000, dtype=torch.long)
    step = transformer.generate_frame_cached(cache, actions, torch.Generator().manual_seed(0), temperature=2.0)
    assert step.tokens is not None
    assert step.observations is not None
    drawn = torch.bincount(step.tokens[:, 0], minlength=N) / 4000
    expected = torch.softmax(step.observations[0, 0] / 2.0, dim=-1)
    assert torch.allclose(drawn, expected, atol=0.04)


def test_the_same_generator_dreams_the_same() -> None:
    transformer = make()
    frames = []
    for other in (1, 2):
        torch.manual_seed(other)
        generator = torch.Generator().manual_seed(5)
        cache = transformer.init_cache(3)
        transformer.prime_cache(cache, torch.zeros(3, 1, K, dtype=torch.long))
        actions = torch.zeros(3, dtype=torch.long)
        frames.append([transformer.generate_frame_cached(cache, actions, generator).tokens for _ in range(6)])
    assert all(torch.equal(a, b) for a, b in zip(*frames, strict=True) if a is not None and b is not None)


def test_priming_needs_the_actions_between_the_frames() -> None:
    transformer = make()
    tokens, actions = random_tokens(torch.Generator().manual_seed(0), 1, 3)
    with pytest.raises(ValueError, match="3 frames need the 2 actions between them, not 3"):
        transformer.prime_cache(transformer.init_cache(1), tokens, actions)


def test_imagining_with_dropout_is_refused() -> None:
    transformer = make().train()
    with pytest.raises(RuntimeError, match=r"call \.eval\(\) first"):
        transformer.prime_cache(transformer.init_cache(1), torch.zeros(1, 1, K, dtype=torch.long))


def test_longer_sequences_than_the_context_are_refused() -> None:
    tokens, actions = random_tokens(torch.Generator().manual_seed(0), 1, 5)
    with pytest.raises(ValueError, match="5 timesteps do not fit"):
        make(timesteps=4)(tokens, actions)


def test_gradient_checkpointing_changes_no_gradient_under_dropout() -> None:
    tokens, actions = random_tokens(torch.Generator().manual_seed(0), 2, 4)
    gradients = []
    for recompute in (False, True):
        transformer = make(compute=ComputeConfig(gradient_checkpointing=recompute)).train()
        torch.manual_seed(3)
        transformer(tokens, actions).observations.square().mean().backward()
        gradients.append(transformer.position_embedding.grad)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def dream(transformer: IRISTransformer, steps: int) -> list[GeneratedStep]:
    cache, generator = transformer.init_cache(2), torch.Generator().manual_seed(0)
    transformer.prime_cache(cache, torch.zeros(2, 1, K, dtype=torch.long))
    return [transformer.generate_frame_cached(cache, torch.tensor([0, 1]), generator) for _ in range(steps)]


def test_compiled_passes_give_the_same_dream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced as for a GPU, but run without generating code, which takes a minute."""
    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, dynamic: compile_(f, dynamic=dynamic, backend="eager"))
    compiled = make(compute=ComputeConfig(compile=True))
    for ours, theirs in zip(dream(compiled, 6), dream(make(), 6), strict=True):
        assert ours.tokens is not None
        assert theirs.tokens is not None
        assert torch.equal(ours.tokens, theirs.tokens)
        assert torch.allclose(ours.rewards, theirs.rewards, atol=1e-5)
    assert compiled._compiled is not None
    assert compiled._compiled.works


@pytest.mark.slow
def test_code_is_generated_for_compiled_passes() -> None:
    compiled = make(compute=ComputeConfig(compile=True))
    for ours, theirs in zip(dream(compiled, 3), dream(make(), 3), strict=True):
        assert torch.allclose(ours.rewards, theirs.rewards, atol=1e-5)
    assert compiled._compiled is not None
    assert compiled._compiled.works


def test_a_compiler_that_fails_is_said_once_and_gone_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_compiler(function: object, inputs: object) -> object:
        raise RuntimeError("no C++ compiler")

    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, dynamic: compile_(f, dynamic=dynamic, backend=no_compiler))
    with caplog.at_level(logging.WARNING, logger="wm_agent_iris"):
        ours = dream(make(compute=ComputeConfig(compile=True)), 4)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "goes on uncompiled" in caplog.text
    for step, expected in zip(ours, dream(make(), 4), strict=True):
        assert step.tokens is not None
        assert expected.tokens is not None
        assert torch.equal(step.tokens, expected.tokens)


def test_on_a_cpu_the_cache_is_float32_in_any_precision() -> None:
    transformer = make()
    with torch.autocast("cpu", torch.bfloat16):
        assert transformer.init_cache(1).keys[0].dtype == torch.float32
    assert transformer.init_cache(1).keys[0].dtype == torch.float32


def test_imagining_in_bfloat16_stays_close_to_float32() -> None:
    transformer = make()
    logits = []
    for mixed in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            cache = transformer.init_cache(2)
            transformer.prime_cache(cache, torch.zeros(2, 1, K, dtype=torch.long))
            step = transformer.generate_frame_cached(cache, torch.tensor([0, 1]), torch.Generator().manual_seed(0))
        assert step.observations is not None
        logits.append(step.observations.float())
    scale = float(logits[0][:, 0].abs().mean())
    assert float((logits[0][:, 0] - logits[1][:, 0]).abs().mean()) < 0.05 * scale
