"""The policy in the real environment, and how long it collects before training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diamond_training import Squares, short
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_diamond.collector import Collector
from wm_agent_diamond.config_training import CollectionConfig
from wm_agent_diamond.trainer import DiamondTrainer
from wm_torchkit.replay_sampling import Sequences

EVERYTHING = 64
POLICY_ALONE: dict[str, Any] = {
    "collection__initial_steps": 0,
    "collection__min_rare_rewards": 0,
    "collection__epsilon": 0.0,
}


def collected(directory: Path, steps: int, **training: Any) -> DiamondTrainer:
    trainer = DiamondTrainer("squares", config=short(**training), env=Squares(), directory=directory, seed=2)
    collect(trainer, steps)
    return trainer


def collect(trainer: DiamondTrainer, steps: int) -> list[float | None]:
    assert trainer._collector is not None
    with trainer._random.as_global("collection"):
        return [trainer._collector.step().get("episode_return") for _ in range(steps)]


def sampled(trainer: DiamondTrainer) -> Sequences:
    return trainer.replay.episodes.sample(EVERYTHING, 9)


def test_every_step_is_stored(tmp_path: Path) -> None:
    assert collected(tmp_path, 30).replay.num_steps == 30


def test_a_stored_frame_is_followed_by_what_the_stored_action_led_to(tmp_path: Path) -> None:
    batch = sampled(collected(tmp_path, 40))
    places = batch.frames[..., 0].float().sum(2).argmax(-1) // 3
    moved = places[:, 1:] - places[:, :-1]
    inside = batch.mask & ~batch.terminated
    assert torch.equal(moved[inside], batch.actions[inside] - 1)


def test_the_return_of_an_episode_is_reported_at_its_end(tmp_path: Path) -> None:
    trainer = collected(tmp_path, 0)
    reported = collect(trainer, 60)
    held = trainer.replay.episodes.episodes()
    assert len([each for each in reported if each is not None]) == int(held.finished.sum())
    assert set(reported) <= {None, 0.0, 1.0}


def test_uniform_initial_actions_ask_no_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wm_agent_diamond.agent.DiamondAgent.policy_step", None)
    batch = sampled(collected(tmp_path, 20))
    assert set(batch.actions[batch.mask].tolist()) == {0, 1, 2}


def fixed_action(monkeypatch: pytest.MonkeyPatch, action: int, temperature: float = 1.0) -> list[Any]:
    """Let the policy always choose `action`; the memories it is handed."""
    memories: list[Any] = []

    def policy_step(self: Any, frames: Any, state: Any = None, **options: Any) -> Any:
        memories.append(state)
        assert options["temperature"] == temperature
        return torch.tensor([action]), torch.tensor(float(len(memories)))

    monkeypatch.setattr("wm_agent_diamond.agent.DiamondAgent.policy_step", policy_step)
    return memories


def test_without_epsilon_the_policy_alone_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_action(monkeypatch, 2)
    batch = sampled(collected(tmp_path, 20, **POLICY_ALONE))
    assert set(batch.actions[batch.mask].tolist()) == {2}


def test_the_temperature_of_collection_is_one_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = fixed_action(monkeypatch, 2, temperature=0.01)
    collected(tmp_path, 5, **POLICY_ALONE, collection__temperature=0.01)
    assert len(memories) == 5


def test_epsilon_is_the_chance_of_a_uniform_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_action(monkeypatch, 1)
    settings = {**POLICY_ALONE, "collection__epsilon": 0.3, "collection__replay_capacity": 900}
    trainer = collected(tmp_path, 600, **settings, collection__max_env_steps=900)
    rows = trainer.replay.episodes.sample_stream(1, 600)
    others = float((rows.previous_actions[~rows.is_first] != 1).float().mean())
    assert abs(others - 0.3 * 2 / 3) < 0.06


def test_the_policys_memory_is_cleared_where_an_episode_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = fixed_action(monkeypatch, 2)
    trainer = collected(tmp_path, 20, **POLICY_ALONE)
    starts = [i for i, memory in enumerate(memories) if memory is None]
    lengths = trainer.replay.episodes.episodes().steps
    assert starts == np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist()


class Counting(Collector):
    """A collector in an environment that pays every `every`-th step, without the rest."""

    def __init__(self, config: CollectionConfig, every: int) -> None:
        self._config, self._every = config, every
        self._steps, self._initial = 0, None
        from collections import Counter

        self._signs = Counter()

    def step(self) -> dict[str, float]:
        if self._initial is None and self._is_enough():
            self._initial = self._steps
        self._steps += 1
        self._signs["1" if self._steps % self._every == 0 else "0"] += 1
        if self._initial is None and self._steps == self._config.max_env_steps:
            self._initial = self._steps
        return {}


def first_training_epoch(config: CollectionConfig, every: int) -> tuple[int, int]:
    """Which epoch trains first, and how many environment steps were initial."""
    collector = Counting(config, every)
    for epoch in range(1, config.epochs + 1):
        for _ in range(config.steps(epoch)):
            collector.step()
        if collector.training_epoch(epoch) >= 1:
            assert collector.training_epoch(epoch) == 1
            assert collector._initial is not None
            return epoch, collector._initial
    raise AssertionError("it never trains")


@pytest.mark.parametrize(
    ("every", "epoch", "initial"),
    [(100, 1, 5_000), (500, 1, 5_000), (600, 11, 6_000), (900, 41, 9_000), (5_000, 51, 10_000), (10**6, 51, 10_000)],
)
def test_training_waits_for_ten_rare_rewards_but_not_for_ever(every: int, epoch: int, initial: int) -> None:
    assert first_training_epoch(CollectionConfig(), every) == (epoch, initial)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400), st.integers(0, 200), st.integers(0, 200), st.integers(1, 50), st.integers(1, 60))
def test_however_little_is_collected_training_begins(
    total: int, initial: int, more: int, per_epoch: int, every: int
) -> None:
    config = CollectionConfig(
        initial_steps=initial, max_initial_steps=initial + more, steps_per_epoch=per_epoch, max_env_steps=total
    )
    epoch, taken = first_training_epoch(config, every)
    assert 1 <= epoch <= config.epochs
    assert taken <= total


def test_before_it_is_known_training_is_planned_as_early_as_it_can_be() -> None:
    collector = Counting(CollectionConfig(), 10**6)
    assert collector.training_epoch(1) == 1
    for _ in range(5_100):
        collector.step()
    assert collector.training_epoch(1) == 0
    assert collector.training_epoch(2) == 1
