from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.dynamics import DynamicsModel


@pytest.fixture
def dynamics(agent: GenieAgent) -> DynamicsModel:
    return agent.dynamics


def inputs(batch: int = 3, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Tokens (B, 5, 6) out of 11 and actions (B, 4, 4)."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(11, (batch, 5, 6), generator=generator)
    return tokens, torch.randn(batch, 4, 4, generator=generator)


def test_targets_are_not_overwritten_by_the_mask(dynamics: DynamicsModel, generator: torch.Generator) -> None:
    tokens, actions = inputs()
    before = tokens.clone()
    masked, mask = dynamics.masked(tokens, generator)
    dynamics.loss(tokens, actions, generator)
    assert torch.equal(tokens, before)
    assert bool((masked[mask] == dynamics.mask_token).all())
    assert torch.equal(masked[~mask], tokens[~mask])


def test_the_loss_is_the_cross_entropy_of_true_tokens_at_masked_places_alone(dynamics: DynamicsModel) -> None:
    tokens, actions = inputs()
    loss, metrics = dynamics.loss(tokens, actions, torch.Generator().manual_seed(4))
    masked, mask = dynamics.masked(tokens, torch.Generator().manual_seed(4))
    log_p = F.log_softmax(dynamics(masked, actions), dim=-1)
    expected = torch.stack([-log_p[b, t, n, tokens[b, t, n]] for b, t, n in mask.nonzero().tolist()]).mean()
    torch.testing.assert_close(loss, expected)
    assert float(metrics["masked"]) == pytest.approx(float(mask.float().mean()))


def test_the_first_frame_is_never_masked_and_others_at_half_to_all_of_their_tokens(dynamics: DynamicsModel) -> None:
    """Section 2.1: masked at a Bernoulli rate drawn between 0.5 and 1, so three quarters on average."""
    tokens = torch.randint(11, (4000, 5, 6))
    _, mask = dynamics.masked(tokens, torch.Generator().manual_seed(0))
    assert not bool(mask[:, 0].any())
    share = mask[:, 1:].float().mean(dim=(1, 2))
    assert float(share.mean()) == pytest.approx(0.75, abs=0.01)
    # A rate is the clip's: beside the rate's variance (1/48), 24 draws at it add (E[r] - E[r^2]) / 24.
    assert float(share.var()) == pytest.approx(1 / 48 + (3 / 4 - 7 / 12) / 24, rel=0.1)


def test_learning_to_copy_shows_in_the_loss(dynamics: DynamicsModel) -> None:
    """Frames that repeat the first one can be told from it: the loss falls far below chance, ln 11 = 2.4."""
    dynamics.train()
    optimizer = torch.optim.AdamW(dynamics.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(150):
        tokens = torch.randint(11, (16, 1, 6), generator=generator).expand(-1, 5, -1)
        loss, _ = dynamics.loss(tokens, torch.zeros(16, 4, 4), generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 1.0


def test_no_gradient_reaches_the_actions(dynamics: DynamicsModel, generator: torch.Generator) -> None:
    tokens, actions = inputs()
    actions.requires_grad_()
    dynamics.loss(tokens, actions, generator)[0].backward()
    assert actions.grad is None


@pytest.mark.parametrize("step", range(4))
def test_an_action_changes_the_frames_after_it_and_none_before(dynamics: DynamicsModel, step: int) -> None:
    tokens, actions = inputs()
    other = actions.clone()
    other[:, step] += 1.0
    with torch.no_grad():
        difference = (dynamics(tokens, actions) - dynamics(tokens, other)).abs().amax(-1)
    assert float(difference[:, : step + 1].sum()) == 0
    assert float(difference[:, step + 1 :].min()) > 1e-4


@pytest.mark.parametrize("past", [1, 2, 3, 4])
def test_a_draft_through_the_cache_gets_the_logits_of_a_full_pass(dynamics: DynamicsModel, past: int) -> None:
    tokens, actions = inputs()
    draft = torch.full((3, 6), dynamics.mask_token)
    draft[:, ::2] = tokens[:, past, ::2]
    cache = dynamics.new_cache(3)
    dynamics.read(cache, tokens[:, :past], actions[:, : past - 1])
    with torch.no_grad():
        full = dynamics(torch.cat([tokens[:, :past], draft[:, None]], 1), actions[:, :past])[:, -1]
    torch.testing.assert_close(dynamics.draft_logits(cache, draft, actions[:, past - 1]), full, atol=1e-5, rtol=0)


def test_a_past_already_read_is_not_read_again(dynamics: DynamicsModel) -> None:
    tokens, actions = inputs()
    cache = dynamics.new_cache(3)
    dynamics.read(cache, tokens[:, :3], actions[:, :2])
    read: list[int] = []
    dynamics.transformer.blocks[0].register_forward_hook(lambda _module, args, _output: read.append(args[0].shape[1]))
    dynamics.read(cache, tokens[:, :3], actions[:, :2])
    dynamics.read(cache, tokens[:, :4], actions[:, :3])
    assert read == [1]


@pytest.mark.parametrize("changed", ["token", "action"])
def test_a_past_that_differs_is_read_anew_from_where_it_does(dynamics: DynamicsModel, changed: str) -> None:
    tokens, actions = inputs()
    cache = dynamics.new_cache(3)
    dynamics.read(cache, tokens[:, :4], actions[:, :3])
    other_tokens, other_actions = tokens.clone(), actions.clone()
    if changed == "token":
        other_tokens[1, 2, 0] = (tokens[1, 2, 0] + 1) % 11
    else:
        other_actions[1, 1] += 1
    dynamics.read(cache, other_tokens[:, :4], other_actions[:, :3])
    fresh = dynamics.new_cache(3)
    dynamics.read(fresh, other_tokens[:, :4], other_actions[:, :3])
    draft = tokens[:, 4]
    torch.testing.assert_close(
        dynamics.draft_logits(cache, draft, actions[:, 3]), dynamics.draft_logits(fresh, draft, actions[:, 3])
    )


def test_as_many_actions_as_frames_are_refused(dynamics: DynamicsModel) -> None:
    tokens, _ = inputs()
    with pytest.raises(ValueError, match="5 frames have 4 actions between them; 5 given"):
        dynamics(tokens, torch.zeros(3, 5, 4))
