"""Troubles that are silent otherwise."""

from __future__ import annotations

import math

from wm_agent_diamond.health import HealthWatch

CHANCE = math.log(3)


def test_a_collapsed_entropy_is_said_once_until_it_is_over() -> None:
    watch = HealthWatch(3)
    (warning,) = watch.look(4, {"actor_critic/entropy": 0.001})
    assert "epoch 4: the policy's entropy has collapsed to 0.0010" in warning
    assert watch.look(5, {"actor_critic/entropy": 0.001}) == []
    assert watch.look(6, {"actor_critic/entropy": 0.5}) == []
    assert len(watch.look(7, {"actor_critic/entropy": 0.001})) == 1


def test_an_entropy_that_stays_that_of_chance_is_said_after_two_epochs() -> None:
    watch = HealthWatch(3)
    said = [watch.look(epoch, {"actor_critic/entropy": CHANCE}) for epoch in range(1, 5)]
    assert [len(each) for each in said] == [0, 0, 1, 0]
    assert "stayed flat" in said[2][0]


def test_dreams_without_any_reward_are_said() -> None:
    watch = HealthWatch(3)
    (warning,) = watch.look(1, {"actor_critic/rewarded_steps": 0.0})
    assert "no dream of this epoch brought a reward" in warning
    assert watch.look(2, {"actor_critic/rewarded_steps": 0.01}) == []


def test_epochs_without_learning_say_nothing() -> None:
    assert HealthWatch(3).look(1, {"collection/episode_return": 0.0}) == []


def test_a_game_of_one_action_has_no_entropy_to_watch() -> None:
    assert HealthWatch(1).look(1, {"actor_critic/entropy": 0.0}) == []
