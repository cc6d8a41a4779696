"""The recurrent state-space model."""

from __future__ import annotations

import pytest
import torch
from dreamer_configs import V1, V2, V3, VERSIONS, changed
from torch import Tensor
from torch.nn import functional as F

from wm_agent_dreamer.config import RSSMConfig
from wm_agent_dreamer.networks.recurrence import BlockRecurrence, KerasRecurrence, LayerNormRecurrence
from wm_agent_dreamer.rssm import RSSM, RSSMState

EMBEDDING, ACTIONS, BATCH, STEPS = 7, 3, 2, 6
LEARNED = changed(V3, rssm={"initial": "learned"}).rssm
CONFIGS = {name: config.rssm for name, config in VERSIONS.items()} | {"v3-learned": LEARNED}


@pytest.fixture(params=CONFIGS)
def rssm(request: pytest.FixtureRequest, generator: torch.Generator) -> RSSM:
    return random_rssm(CONFIGS[request.param], generator)


def random_rssm(config: RSSMConfig, generator: torch.Generator) -> RSSM:
    model = RSSM(config, EMBEDDING, ACTIONS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    return model


def streams(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    embedding = torch.randn(BATCH, STEPS, EMBEDDING, generator=generator)
    return embedding, torch.rand(BATCH, STEPS, ACTIONS, generator=generator)


def noise(rssm: RSSM, generator: torch.Generator, *shape: int) -> Tensor:
    return rssm.draw_noise(shape, generator, torch.device("cpu"))


def assert_same(left: RSSMState, right: RSSMState) -> None:
    torch.testing.assert_close(left.deter, right.deter, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(left.stoch, right.stoch, rtol=1e-5, atol=1e-5)


def test_steps_one_by_one_equal_the_unroll(rssm: RSSM, generator: torch.Generator) -> None:
    embedding, action = streams(generator)
    drawn = noise(rssm, generator, STEPS, BATCH)
    first = torch.zeros(BATCH, STEPS, dtype=torch.bool)
    first[0, 0] = first[1, 3] = True
    whole = rssm.observe(embedding, action, first, drawn)
    state = None
    for t in range(STEPS):
        now = slice(t, t + 1)
        step = rssm.observe(embedding[:, now], action[:, now], first[:, now], drawn[now], state)
        state = step.final
        assert_same(state, whole.state[:, t])
        torch.testing.assert_close(step.parameters[:, 0], whole.parameters[:, t], rtol=1e-5, atol=1e-5)


def test_a_first_record_in_mid_sequence_is_a_fresh_state_with_no_action(rssm: RSSM, generator: torch.Generator) -> None:
    embedding, action = streams(generator)
    drawn = noise(rssm, generator, STEPS, BATCH)
    first = torch.zeros(BATCH, STEPS, dtype=torch.bool)
    first[:, 3] = True
    whole = rssm.observe(embedding, action, first, drawn)
    without = action[:, 3:].clone()
    without[:, 0] = 0.0
    fresh = rssm.observe(embedding[:, 3:], without, torch.zeros(BATCH, 3, dtype=torch.bool), drawn[3:])
    assert_same(whole.state[:, 3:], fresh.state)


def test_what_precedes_a_first_record_gets_no_gradient_from_after_it(rssm: RSSM, generator: torch.Generator) -> None:
    embedding, action = streams(generator)
    embedding.requires_grad_()
    first = torch.zeros(BATCH, STEPS, dtype=torch.bool)
    first[:, 3] = True
    posterior = rssm.observe(embedding, action, first, noise(rssm, generator, STEPS, BATCH))
    (gradient,) = torch.autograd.grad(posterior.state.features[:, 3:].square().sum(), embedding)
    assert bool((gradient[:, :3] == 0).all())
    assert bool((gradient[:, 3:] != 0).any(-1).all())


def test_a_carried_state_continues_the_stream(rssm: RSSM, generator: torch.Generator) -> None:
    embedding, action = streams(generator)
    drawn, first = noise(rssm, generator, STEPS, BATCH), torch.zeros(BATCH, STEPS, dtype=torch.bool)
    whole = rssm.observe(embedding, action, first, drawn)
    before = rssm.observe(embedding[:, :4], action[:, :4], first[:, :4], drawn[:4]).final
    after = rssm.observe(embedding[:, 4:], action[:, 4:], first[:, 4:], drawn[4:], before)
    assert_same(whole.state[:, 4:], after.state)


def test_imagination_takes_the_same_deterministic_step(rssm: RSSM, generator: torch.Generator) -> None:
    embedding, action = streams(generator)
    posterior = rssm.observe(embedding, action, torch.zeros(BATCH, STEPS).bool(), noise(rssm, generator, STEPS, BATCH))
    imagined = rssm.imagine_step(posterior.state[:, 0], action[:, 1], noise(rssm, generator, BATCH))
    torch.testing.assert_close(imagined.deter, posterior.state.deter[:, 1], rtol=1e-5, atol=1e-5)


def test_imagined_latents_come_from_the_prior(rssm: RSSM, generator: torch.Generator) -> None:
    drawn = noise(rssm, generator, BATCH)
    state = rssm.imagine_step(rssm.initial_state(BATCH), torch.ones(BATCH, ACTIONS), drawn)
    torch.testing.assert_close(state.stoch, rssm.latents.sample(rssm.prior(state.deter), drawn))


def test_the_learned_initial_state_is_tanh_and_the_priors_mode(generator: torch.Generator) -> None:
    rssm = random_rssm(LEARNED, generator)
    state = rssm.initial_state(2)
    assert rssm.initial_deter is not None
    torch.testing.assert_close(state.deter, torch.tanh(rssm.initial_deter).expand(2, -1))
    logits = rssm.prior(state.deter).view(2, LEARNED.stoch, LEARNED.classes)
    assert torch.equal(state.stoch.view_as(logits).argmax(-1), logits.argmax(-1))


def test_the_v1_recurrence_is_the_gru_of_torch(generator: torch.Generator) -> None:
    cell = KerasRecurrence(V1.rssm, ACTIONS)
    reference = torch.nn.GRUCell(V1.rssm.hidden, V1.rssm.deter)
    reference.load_state_dict(
        {
            "weight_ih": cell.from_input.weight.detach(),
            "weight_hh": cell.from_deter.weight.detach(),
            "bias_ih": cell.from_input.bias.detach(),
            "bias_hh": cell.from_deter.bias.detach(),
        }
    )
    torch.nn.init.normal_(cell.input.linear.weights[0], generator=generator)
    torch.nn.init.normal_(cell.input.linear.weights[1], generator=generator)
    deter, stoch = torch.randn(2, V1.rssm.deter, generator=generator), torch.randn(2, 6, generator=generator)
    action = torch.randn(2, ACTIONS, generator=generator)
    joint = torch.cat(list(cell.input.linear.weights), 1)
    inputs = F.elu(F.linear(torch.cat([stoch, action], 1), joint, cell.input.linear.bias))
    found = cell(deter, stoch, cell.project_actions(action))
    torch.testing.assert_close(found, reference(inputs, deter))


def test_the_v2_recurrence_normalises_all_gates_together(generator: torch.Generator) -> None:
    cell, size = LayerNormRecurrence(V2.rssm, ACTIONS), V2.rssm.deter
    for weight in cell.input.linear.weights:
        torch.nn.init.normal_(weight, generator=generator)
    deter = torch.randn(2, size, generator=generator)
    stoch, action = torch.randn(2, 16, generator=generator), torch.randn(2, ACTIONS, generator=generator)
    weight = torch.cat(list(cell.input.linear.weights), 1)
    inputs = F.elu(F.linear(torch.cat([stoch, action], 1), weight, cell.input.linear.bias))
    parts = torch.cat([inputs, deter], 1) @ cell.gates.weight.T
    parts = (parts - parts.mean(1, keepdim=True)) / (parts.var(1, unbiased=False, keepdim=True) + 1e-3).sqrt()
    reset, candidate, update = parts[:, :size], parts[:, size : 2 * size], parts[:, 2 * size :]
    update = torch.sigmoid(update - 1)
    expected = update * torch.tanh(torch.sigmoid(reset) * candidate) + (1 - update) * deter
    torch.testing.assert_close(cell(deter, stoch, cell.project_actions(action)), expected)


def test_the_block_recurrence_keeps_other_blocks_apart(generator: torch.Generator) -> None:
    """With what all blocks share removed, a block of h depends on its own past alone, but for the common norm."""
    config = V3.rssm.model_copy(update={"norm": "none"})
    cell = BlockRecurrence(config, ACTIONS)
    torch.nn.init.normal_(cell.hidden.weight, generator=generator)
    torch.nn.init.normal_(cell.gates.weight, generator=generator)
    for dense in (cell.from_deter, cell.from_stoch, cell.from_action):
        torch.nn.init.zeros_(dense.linear.weight)
        torch.nn.init.zeros_(dense.linear.bias)
    deter = torch.randn(1, config.deter, generator=generator)
    other = deter.clone()
    other[:, :8] += 1.0
    stoch, action = torch.zeros(1, config.stoch_size), cell.project_actions(torch.zeros(1, ACTIONS))
    before, after = cell(deter, stoch, action), cell(other, stoch, action)
    assert not torch.allclose(before[:, :8], after[:, :8])
    torch.testing.assert_close(before[:, 8:], after[:, 8:])
