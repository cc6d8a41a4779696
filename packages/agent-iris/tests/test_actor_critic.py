from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_iris.actor_critic import IRISActorCritic
from wm_agent_iris.actor_critic_loss import actor_critic_loss, compute_lambda_return
from wm_agent_iris.config import ActorCriticConfig, ImaginationConfig
from wm_agent_iris.imagination import Dream


def make(separate: bool = False, channels: tuple[int, ...] = (4, 6)) -> IRISActorCritic:
    """16x16 frames, 3 actions."""
    config = ActorCriticConfig(channels=channels, lstm_dim=8, separate_networks=separate)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return IRISActorCritic(config, image_size=16, action_size=3)


def dream(rewards: Tensor, ends: Tensor, actions: Tensor) -> Dream:
    b, h = rewards.shape
    return Dream(torch.zeros(b, h, 3, 2, 2), actions, rewards, ends, torch.zeros(1, 2, b, 1), None)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000),
    batch=st.integers(1, 4),
    horizon=st.integers(1, 12),
    gamma=st.floats(0.1, 1.0),
    lambda_=st.floats(0.0, 1.0),
)
def test_lambda_returns_are_the_recursion(seed: int, batch: int, horizon: int, gamma: float, lambda_: float) -> None:
    if horizon < 2:
        horizon = 2
    generator = torch.Generator().manual_seed(seed)
    rewards, values = torch.randn(2, batch, horizon, generator=generator)
    ends = torch.rand(batch, horizon, generator=generator) < 0.2
    expected = values.clone()
    for b in range(batch):
        for t in reversed(range(horizon - 1)):
            following = (1 - lambda_) * values[b, t + 1] + lambda_ * expected[b, t + 1]
            expected[b, t] = rewards[b, t] + gamma * (1 - ends[b, t].float()) * following
    assert torch.allclose(compute_lambda_return(rewards, values, ends, gamma, lambda_), expected, atol=1e-4)


def test_nothing_after_an_end_counts() -> None:
    ends = torch.tensor([[False, True, False, False]])
    rewards, values = torch.tensor([[1.0, 2.0, 50.0, 70.0]]), torch.tensor([[0.0, 0.0, 90.0, 40.0]])
    returns = compute_lambda_return(rewards, values, ends, 0.5, 1.0)
    assert returns[0, :2].tolist() == [1.0 + 0.5 * 2.0, 2.0]


def test_lambda_returns_of_unlike_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="must be alike"):
        compute_lambda_return(torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(2, 3, dtype=torch.bool), 0.9, 0.9)


def test_the_loss_is_reinforce_with_a_baseline_on_all_steps_but_the_last(generator: torch.Generator) -> None:
    logits = torch.randn(2, 4, 3, generator=generator, requires_grad=True)
    values = torch.randn(2, 4, generator=generator, requires_grad=True)
    rewards, ends = torch.randn(2, 4, generator=generator), torch.zeros(2, 4, dtype=torch.bool)
    actions = torch.randint(3, (2, 4), generator=generator)
    config = ImaginationConfig(gamma=0.9, lambda_=0.8, entropy_weight=0.3)
    loss = actor_critic_loss(dream(rewards, ends, actions), logits, values, config)

    returns = compute_lambda_return(rewards, values.detach(), ends, 0.9, 0.8)[:, :3]
    policy = torch.distributions.Categorical(logits=logits[:, :3])
    advantages = returns - values[:, :3].detach()
    reinforce = -(policy.log_prob(actions[:, :3]) * advantages).mean()
    value = (values[:, :3] - returns).square().mean()
    total = reinforce + value - 0.3 * policy.entropy().mean()
    assert torch.allclose(loss.total, total)
    ours, theirs = torch.autograd.grad(loss.total, (logits, values)), torch.autograd.grad(total, (logits, values))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours, theirs, strict=True))
    assert float(ours[0][:, 3].abs().sum() + ours[1][:, 3].abs().sum()) == 0


def test_steps_after_an_imagined_end_are_learned_from_only_where_wanted(generator: torch.Generator) -> None:
    logits = torch.randn(1, 5, 3, generator=generator, requires_grad=True)
    values = torch.randn(1, 5, generator=generator, requires_grad=True)
    ends = torch.tensor([[False, True, False, False, False]])
    dreamt = dream(torch.randn(1, 5, generator=generator), ends, torch.zeros(1, 5, dtype=torch.long))
    assert dreamt.alive().tolist() == [[True, True, False, False, False]]
    for stop, learned in ((False, [True, True, True, True]), (True, [True, True, False, False])):
        config = ImaginationConfig(stop_at_end=stop)
        gradient = torch.autograd.grad(actor_critic_loss(dreamt, logits, values, config).total, logits)[0]
        assert (gradient[0, :4].abs().sum(-1) > 0).tolist() == learned


def test_gradient_descent_prefers_the_rewarded_action() -> None:
    logits = torch.zeros(64, 2, 3, requires_grad=True)
    actions = torch.randint(3, (64, 2), generator=torch.Generator().manual_seed(0))
    rewards = (actions == 2).float()
    dreamt = dream(rewards, torch.ones(64, 2, dtype=torch.bool), actions)
    actor_critic_loss(dreamt, logits, torch.zeros(64, 2), ImaginationConfig()).total.backward()
    assert logits.grad is not None
    assert logits.grad[:, 0].sum(0).argmin() == 2


@pytest.mark.parametrize("separate", [False, True])
def test_one_pass_over_a_sequence_is_step_by_step(generator: torch.Generator, separate: bool) -> None:
    model = make(separate)
    frames = torch.rand(2, 5, 3, 16, 16, generator=generator)
    with torch.no_grad():
        whole = model(frames, model.initial_state(2))
        state, logits, values = model.initial_state(2), [], []
        for t in range(5):
            step = model(frames[:, t : t + 1], state)
            state = step.state
            logits.append(step.logits)
            values.append(step.values)
    assert torch.allclose(whole.logits, torch.cat(logits, 1), atol=1e-6)
    assert torch.allclose(whole.values, torch.cat(values, 1), atol=1e-6)
    assert torch.allclose(whole.state, state, atol=1e-6)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), lengths=st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_burn_in_skips_the_padding_at_the_left(seed: int, lengths: list[int]) -> None:
    model = make()
    frames = torch.rand(len(lengths), 4, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    mask = torch.tensor([[t >= 4 - n for t in range(4)] for n in lengths])
    state = model.burn_in(frames, mask)
    for lane, n in enumerate(lengths):
        alone = model.burn_in(frames[lane : lane + 1, 4 - n :], torch.ones(1, n, dtype=torch.bool))
        assert torch.allclose(state[:, :, lane], alone[:, :, 0], atol=1e-6)


def test_burn_in_records_no_gradient_and_the_horizon_does(generator: torch.Generator) -> None:
    model = make()
    frames = torch.rand(1, 3, 3, 16, 16, generator=generator, requires_grad=True)
    state = model.burn_in(frames, torch.ones(1, 3, dtype=torch.bool))
    assert not state.requires_grad
    output = model(frames, state)
    output.logits[:, -1].sum().backward()
    assert frames.grad is not None
    assert float(frames.grad[:, 0].abs().sum()) > 0


def test_a_shared_network_has_one_trunk_and_separate_ones_two() -> None:
    shared, separate = make(), make(separate=True)
    assert shared.initial_state(4).shape == (1, 2, 4, 8)
    assert separate.initial_state(4).shape == (2, 2, 4, 8)
    trunk = sum(p.numel() for p in shared.networks.parameters())
    assert sum(p.numel() for p in separate.parameters()) == sum(p.numel() for p in shared.parameters()) + trunk


def test_the_value_of_separate_networks_leaves_the_actor_alone(generator: torch.Generator) -> None:
    model = make(separate=True)
    output = model(torch.rand(1, 2, 3, 16, 16, generator=generator), model.initial_state(1))
    output.values.sum().backward()
    assert all(parameter.grad is None for parameter in model.networks[0].parameters())
    assert all(parameter.grad is not None for parameter in model.networks[1].parameters())


def test_the_documents_networks_are_32_64_128_256() -> None:
    config = ActorCriticConfig(channels=(32, 64, 128, 256), separate_networks=True)
    with torch.device("meta"):
        model = IRISActorCritic(config, image_size=64, action_size=6)
    convolutions = [m.out_channels for m in model.modules() if isinstance(m, torch.nn.Conv2d)]
    assert convolutions == [32, 64, 128, 256] * 2
    assert [m.input_size for m in model.modules() if isinstance(m, torch.nn.LSTM)] == [256 * 16] * 2
