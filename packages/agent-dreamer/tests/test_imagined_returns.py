"""Which return belongs to which state and action."""

from __future__ import annotations

import pytest
import torch
from dreamer_configs import noise_batch
from torch import Tensor

from wm_agent_dreamer.config import ImaginationConfig
from wm_agent_dreamer.imagined_returns import imagined_returns
from wm_agent_dreamer.replay_value import replay_returns
from wm_agent_dreamer.return_normaliser import ReturnNormaliser

GAMMA, LAMBDA, HORIZON = 0.9, 0.8, 5


def dream(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    rewards, chances, values = torch.rand(3, 2, HORIZON + 1, generator=generator)
    return rewards, GAMMA * chances, values


def by_recursion(rewards: list[float], discounts: list[float], values: list[float], bootstrap: float) -> list[float]:
    """R_t = r_t + d_t ((1 - lambda) v_{t+1} + lambda R_{t+1}), from the last step back."""
    returns, following = [], bootstrap
    for reward, discount, value in reversed(list(zip(rewards, discounts, values, strict=True))):
        following = reward + discount * ((1 - LAMBDA) * value + LAMBDA * following)
        returns.insert(0, following)
    return returns


def test_following_rewards_count_from_the_next_state_on(generator: torch.Generator) -> None:
    config = ImaginationConfig(gamma=GAMMA, lambda_=LAMBDA, value_counts="following")
    rewards, discounts, values = dream(generator)
    result = imagined_returns(rewards, discounts, values, config)
    for lane in range(2):
        r, d, v = rewards[lane].tolist(), discounts[lane].tolist(), values[lane].tolist()
        expected = by_recursion(r[1:], d[1:], v[1:], v[-1])
        assert result.value_targets[lane].tolist() == pytest.approx(expected)
        weight, weights = 1 / GAMMA, []
        for t in range(HORIZON):
            weight *= d[t]
            weights.append(weight)
        assert result.value_weights[lane].tolist() == pytest.approx(weights)
    assert torch.equal(result.action_returns, result.value_targets)
    assert torch.equal(result.action_weights, result.value_weights)


def test_arrival_rewards_count_and_actions_get_the_next_states_return(generator: torch.Generator) -> None:
    config = ImaginationConfig(gamma=GAMMA, lambda_=LAMBDA, value_counts="arrival")
    rewards, discounts, values = dream(generator)
    result = imagined_returns(rewards, discounts, values, config)
    for lane in range(2):
        r, d, v = rewards[lane].tolist(), discounts[lane].tolist(), values[lane].tolist()
        expected = by_recursion(r[:-1], d[:-1], v[1:], v[-1])
        assert result.value_targets[lane].tolist() == pytest.approx(expected)
        assert result.action_returns[lane].tolist() == pytest.approx(expected[1:])
        weight, weights = 1.0, [1.0]
        for t in range(HORIZON - 1):
            weight *= d[t]
            weights.append(weight)
        assert result.value_weights[lane].tolist() == pytest.approx(weights)
        assert result.action_weights[lane].tolist() == pytest.approx(weights[:-1])


def test_a_start_that_ended_teaches_nothing(generator: torch.Generator) -> None:
    rewards, discounts, values = dream(generator)
    discounts[0, 0] = 0.0
    following = imagined_returns(rewards, discounts, values, ImaginationConfig(gamma=GAMMA, value_counts="following"))
    arrival = imagined_returns(rewards, discounts, values, ImaginationConfig(gamma=GAMMA, value_counts="arrival"))
    assert following.value_weights[0].tolist() == [0.0] * HORIZON
    assert arrival.value_weights[0].tolist() == [1.0] + [0.0] * (HORIZON - 1)
    assert arrival.value_targets[0, 0] == rewards[0, 0]


def test_replayed_returns_stop_at_ends_and_bootstrap_at_cuts() -> None:
    batch = noise_batch(batch=2, steps=5)
    is_first, is_terminal = torch.zeros(2, 5, dtype=torch.bool), torch.zeros(2, 5, dtype=torch.bool)
    is_first[:, 3] = True
    is_terminal[0, 2] = True  # lane 0 ends at record 2, lane 1 is cut there
    batch = type(batch)(batch.observation, batch.action, batch.reward, is_first, is_terminal)
    start = torch.arange(10.0).view(2, 5)
    config = ImaginationConfig(gamma=GAMMA, lambda_=LAMBDA)
    targets, holds = replay_returns(batch, start, config)
    reward = batch.reward.tolist()
    assert holds.tolist() == [[True, True, False, True]] * 2
    ended = reward[0][2]
    cut = reward[1][2] + GAMMA * 7.0
    assert targets[0, 1].item() == pytest.approx(ended)
    assert targets[1, 1].item() == pytest.approx(cut)
    assert targets[0, 0].item() == pytest.approx(reward[0][1] + GAMMA * ((1 - LAMBDA) * 1.0 + LAMBDA * ended))
    assert targets[1, 3].item() == pytest.approx(reward[1][4] + GAMMA * 9.0)


def test_normaliser_averages_the_range_of_percentiles() -> None:
    normaliser = ReturnNormaliser(decay=0.9, limit=1.0)
    returns = torch.arange(101.0)  # the percentiles are 5 and 95
    assert normaliser.update(returns).item() == pytest.approx(0.1 * 90)
    assert normaliser.update(returns).item() == pytest.approx(0.19 * 90)


def test_normaliser_does_not_blow_up_small_returns() -> None:
    normaliser = ReturnNormaliser(decay=0.0, limit=1.0)
    assert normaliser.update(torch.linspace(0, 0.5, 100)).item() == 1.0


def test_normaliser_is_part_of_the_state() -> None:
    normaliser, other = ReturnNormaliser(0.9, 1.0), ReturnNormaliser(0.9, 1.0)
    normaliser.update(torch.arange(101.0))
    other.load_state_dict(normaliser.state_dict())
    assert torch.equal(other.scale, normaliser.scale)
