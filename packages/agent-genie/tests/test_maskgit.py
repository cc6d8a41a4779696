from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.dynamics import DynamicsModel
from wm_agent_genie.maskgit import choice_noise, generate_frame, known_after


@pytest.fixture
def dynamics(agent: GenieAgent) -> DynamicsModel:
    return agent.dynamics


def past(frames: int = 3, batch: int = 2) -> tuple[Tensor, Tensor]:
    """Tokens (B, T, 6) and actions (B, T, 4), the last of which leads to the new frame."""
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(11, (batch, frames, 6), generator=generator)
    return tokens, torch.randn(batch, frames, 4, generator=generator)


class Drafts:
    """What the model was shown at each step, and what it gave."""

    def __init__(self, dynamics: DynamicsModel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[Tensor] = []
        self.logits: list[Tensor] = []
        original = dynamics.draft_logits

        def spy(cache: object, draft: Tensor, action: Tensor) -> Tensor:
            self.seen.append(draft.clone())
            self.logits.append(original(cache, draft, action))
            return self.logits[-1]

        monkeypatch.setattr(dynamics, "draft_logits", spy)


@settings(deadline=None)
@given(steps=st.integers(1, 40), tokens=st.integers(1, 300))
def test_tokens_become_known_few_at_first_and_all_in_the_end(steps: int, tokens: int) -> None:
    known = known_after(steps, tokens)
    gained = [after - before for before, after in pairwise([0, *known])]
    assert known[-1] == tokens
    assert len(known) <= steps
    assert min(gained) >= 1
    if tokens >= 4 * steps**2:
        assert gained == sorted(gained)


def test_the_schedule_is_the_cosine() -> None:
    """Chang et al. (2022), Section 3.3: cos(pi r / 2) of 100 tokens stay masked: 98.1, 92.4, 83.1, 70.7, 55.6, ..."""
    masked = [100 - known for known in known_after(8, 100)]
    assert masked == [98, 92, 83, 70, 55, 38, 19, 0]


def test_chance_in_the_choice_falls_to_nothing() -> None:
    noise = [choice_noise(4.5, step, 8) for step in range(1, 9)]
    assert noise == sorted(noise, reverse=True)
    assert noise[0] == pytest.approx(4.5 * 7 / 8)
    assert noise[-1] == 0


def test_tokens_drawn_are_shown_to_the_later_steps_and_stay(
    dynamics: DynamicsModel, monkeypatch: pytest.MonkeyPatch, generator: torch.Generator
) -> None:
    drafts = Drafts(dynamics, monkeypatch)
    tokens, actions = past()
    frame = generate_frame(dynamics, tokens, actions, dynamics.new_cache(2), steps=3, generator=generator)
    known = [0, *known_after(3, 6)]
    assert [int((seen != dynamics.mask_token).sum(1).max()) for seen in drafts.seen] == known[:-1]
    for seen in drafts.seen:
        there = seen != dynamics.mask_token
        assert torch.equal(seen[there], frame[there])
    assert not torch.allclose(drafts.logits[0], drafts.logits[1])


def test_every_token_of_a_frame_is_one_of_the_vocabulary(dynamics: DynamicsModel, generator: torch.Generator) -> None:
    tokens, actions = past(batch=50)
    frame = generate_frame(dynamics, tokens, actions, dynamics.new_cache(50), temperature=5.0, generator=generator)
    assert frame.shape == (50, 6)
    assert set(frame.flatten().tolist()) == set(range(11))


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.integers(1, 4), steps=st.integers(1, 6), temperature=st.sampled_from([0.0, 1.0, 2.0]))
def test_frames_are_the_same_with_and_without_the_cache(
    dynamics: DynamicsModel, frames: int, steps: int, temperature: float
) -> None:
    tokens, actions = past(frames)
    with_cache, without = (
        generate_frame(
            dynamics,
            tokens,
            actions,
            cache,
            steps=steps,
            temperature=temperature,
            generator=torch.Generator().manual_seed(1),
        )
        for cache in (dynamics.new_cache(2), None)
    )
    assert torch.equal(with_cache, without)


def test_at_temperature_zero_one_step_takes_the_likeliest_tokens(dynamics: DynamicsModel) -> None:
    tokens, actions = past()
    frame = generate_frame(dynamics, tokens, actions, None, steps=1, temperature=0.0)
    unknown = torch.full((2, 1, 6), dynamics.mask_token)
    with torch.no_grad():
        logits = dynamics(torch.cat([tokens, unknown], 1), actions)[:, -1]
    assert torch.equal(frame, logits.argmax(-1))


def test_one_step_draws_tokens_as_often_as_they_are_likely(dynamics: DynamicsModel, generator: torch.Generator) -> None:
    tokens, actions = past(batch=1)
    n = 4000
    many = generate_frame(
        dynamics, tokens.expand(n, -1, -1), actions.expand(n, -1, -1), None, steps=1, temperature=2.0,
        generator=generator,
    )  # fmt: skip
    with torch.no_grad():
        logits = dynamics(torch.cat([tokens, torch.full((1, 1, 6), dynamics.mask_token)], 1), actions)[0, -1]
    drawn = torch.nn.functional.one_hot(many, 11).float().mean(0)
    torch.testing.assert_close(drawn, torch.softmax(logits / 2.0, -1), atol=0.035, rtol=0)


def test_without_an_action_for_the_new_frame_nothing_is_drawn(dynamics: DynamicsModel) -> None:
    tokens, actions = past()
    with pytest.raises(ValueError, match="3 frames need as many actions"):
        generate_frame(dynamics, tokens, actions[:, :-1], None)


def test_no_steps_are_refused(dynamics: DynamicsModel) -> None:
    with pytest.raises(ValueError, match="at least one"):
        generate_frame(dynamics, *past(), None, steps=0)
