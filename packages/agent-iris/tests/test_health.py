"""Warnings of what goes wrong in silence."""

from __future__ import annotations

import logging
import math

import pytest

from wm_agent_iris.config import IRISConfig
from wm_agent_iris.health import HealthWatch

CHANCE = math.log(4)


@pytest.fixture
def watch() -> HealthWatch:
    return HealthWatch(IRISConfig(), action_size=4)


def test_a_collapsed_codebook_is_warned_about(watch: HealthWatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(watch.look(6, {"tokenizer/perplexity": 1.3})) == 1
    assert "epoch 6: the codebook has collapsed: perplexity 1.30" in caplog.text


def test_a_collapsed_entropy_is_warned_about(watch: HealthWatch) -> None:
    (warning,) = watch.look(60, {"actor_critic/entropy": 0.001})
    assert "entropy has collapsed" in warning


def test_a_policy_that_stays_uniform_is_warned_about(watch: HealthWatch) -> None:
    warnings = [watch.look(epoch, {"actor_critic/entropy": CHANCE}) for epoch in range(51, 56)]
    assert [len(each) for each in warnings] == [0, 0, 1, 0, 0]
    assert "flat" in warnings[2][0]


def test_a_policy_that_leaves_chance_is_not(watch: HealthWatch) -> None:
    assert [watch.look(epoch, {"actor_critic/entropy": CHANCE * 0.99**epoch}) for epoch in range(1, 20)] == [[]] * 19


def test_a_trouble_that_comes_back_is_warned_about_again(watch: HealthWatch) -> None:
    counts = [len(watch.look(6, {"tokenizer/perplexity": value})) for value in (1.0, 1.0, 90.0, 1.0)]
    assert counts == [1, 0, 0, 1]


def test_health_is_not_warned_about(watch: HealthWatch) -> None:
    assert watch.look(60, {"tokenizer/perplexity": 90.0, "actor_critic/entropy": 0.7}) == []


def test_epochs_without_the_component_say_nothing(watch: HealthWatch) -> None:
    assert watch.look(1, {"collection/episode_return": 0.0}) == []
