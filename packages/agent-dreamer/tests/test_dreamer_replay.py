"""The stream that Dreamer learns from."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from dreamer_configs import V3
from dreamer_training import Walk, short

from wm_agent_dreamer.actions import actions_of
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.layouts import StreamBatch
from wm_agent_dreamer.observations import Observations
from wm_agent_dreamer.replay import DreamerReplay
from wm_agent_dreamer.trainer import DreamerTrainer

PLACE = Observations(gymnasium.spaces.Box(-100, 100, (1,), np.float32))
LEFT_OR_RIGHT = actions_of(gymnasium.spaces.Discrete(2))


def replay(**training: Any) -> DreamerReplay:
    config = TrainingConfig(replay_capacity=50, **training)
    return DreamerReplay(PLACE, LEFT_OR_RIGHT, config, np.random.default_rng(0))


def play(into: DreamerReplay, steps: int, ends: str, first: float = 0.0) -> None:
    """Place t is reached by action t % 2 with reward t."""

    def seen(t: int) -> Any:
        return PLACE.store(np.array([first + t], np.float32))

    into.begin_episode(seen(0), 0)
    for t in range(1, steps + 1):
        last = t == steps
        action = LEFT_OR_RIGHT.from_env(t % 2)
        into.add_step(action, float(t), last and ends == "terminated", last and ends == "truncated", seen(t), 0)


def test_a_record_holds_the_action_that_led_to_its_observation() -> None:
    held = replay()
    play(held, 3, "terminated")
    batch = held.sample(2, 4)
    assert batch.observation.vector is not None
    assert batch.observation.vector[0, :, 0].tolist() == [0, 1, 2, 3]
    assert batch.action[0].tolist() == [[0, 0], [0, 1], [1, 0], [0, 1]]
    assert batch.reward[0].tolist() == [0, 1, 2, 3]
    assert batch.is_first[0].tolist() == [True, False, False, False]
    assert batch.is_terminal[0].tolist() == [False, False, False, True]


def test_a_truncation_is_not_terminal() -> None:
    held = replay()
    play(held, 3, "truncated")
    assert not held.sample(5, 4).is_terminal.any()


def test_sequences_span_episodes_shorter_than_they_are() -> None:
    held = replay()
    for episode in range(5):
        play(held, 2, "terminated", first=10.0 * episode)
    batch = held.sample(64, 8)
    assert (batch.is_first.sum(1) >= 2).all()
    assert batch.observation.vector is not None
    assert set(batch.observation.vector.flatten().tolist()) == {10.0 * e + t for e in range(5) for t in range(3)}


@pytest.mark.parametrize(("name", "transform"), [("none", lambda r: r), ("tanh", torch.tanh), ("sign", torch.sign)])
def test_rewards_are_transformed_for_training(name: str, transform: Any) -> None:
    held = replay(reward_transform=name)
    play(held, 3, "terminated")
    assert torch.allclose(held.sample(1, 4).reward[0], transform(torch.arange(4.0)))


def test_the_oldest_episodes_go_when_it_is_full() -> None:
    held = replay()
    for episode in range(30):
        play(held, 4, "terminated", first=10.0 * episode)
    vector = held.sample(200, 2).observation.vector
    assert vector is not None
    assert vector.min() == 200.0


def collected(tmp_path: Path, **options: Any) -> tuple[DreamerTrainer, StreamBatch]:
    trainer = DreamerTrainer("walk", env=partial(Walk, **options), config=short(), directory=tmp_path, seed=2)
    for _ in range(4):
        trainer._collector.prefill_step()
    for _ in range(25):
        trainer._collector.step(0)
    return trainer, trainer.replay.sample(64, 8)


@pytest.mark.parametrize("continuous", [False, True])
def test_what_is_stored_is_what_the_action_led_to(tmp_path: Path, continuous: bool) -> None:
    _, batch = collected(tmp_path, shows="vector", continuous=continuous)
    assert batch.observation.vector is not None
    place, age = batch.observation.vector.unbind(-1)
    moved = (place[:, 1:] - place[:, :-1])[~batch.is_first[:, 1:]]
    taken = batch.action[:, 1:][~batch.is_first[:, 1:]]
    assert torch.equal(moved, taken[:, 0].sign() if continuous else taken.argmax(-1) - 1.0)
    assert torch.equal(age == 0, batch.is_first)
    assert torch.equal((place <= 0) | (place >= 5), batch.is_terminal)
    assert (batch.action[batch.is_first] == 0).all()


@pytest.mark.parametrize("shows", ["image", "vector", "both"])
def test_training_and_acting_see_the_same(tmp_path: Path, shows: str) -> None:
    """The embedding of an observation as the policy gets it is that of the same one out of the replay."""
    env = Walk(shows)
    observations, actions = Observations(env.observation_space), actions_of(env.action_space)
    held = DreamerReplay(observations, actions, TrainingConfig(replay_capacity=50), np.random.default_rng(0))
    raw = [env.reset(seed=0)[0]]
    held.begin_episode(observations.store(raw[0]), 0)
    for action in (5, 6, 7):
        raw.append(env.step(action)[0])
        held.add_step(actions.from_env(action), 0.0, False, False, observations.store(raw[-1]), 0)
    agent = DreamerAgent.from_config(V3, observation=observations.layout, action=actions.layout, seed=0)
    with torch.no_grad():
        training = agent.world_model.encoder(held.sample(1, 4).observation)[0]
        acting = agent.world_model.encoder(observations.batch(raw))
    assert torch.allclose(training, acting, atol=1e-6)
    assert not torch.allclose(acting[0], acting[1], atol=1e-3)
