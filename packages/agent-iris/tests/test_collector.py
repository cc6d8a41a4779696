"""The policy in the real environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from iris_training import Squares, short

from wm_agent_iris.trainer import IRISTrainer
from wm_torchkit.replay_sampling import Sequences

EVERYTHING = 64


def collected(directory: Path, steps: int, **training: Any) -> IRISTrainer:
    trainer = IRISTrainer("squares", config=short(**training), env=Squares(), directory=directory, seed=2)
    with trainer._random.as_global("collection"):
        for _ in range(steps):
            trainer._collector.step()
    return trainer


def sampled(trainer: IRISTrainer) -> Sequences:
    return trainer.replay.episodes.sample(EVERYTHING, 9)


def test_every_step_is_stored(tmp_path: Path) -> None:
    trainer = collected(tmp_path, 30)
    assert trainer.replay.num_steps == 30


def test_a_stored_frame_is_followed_by_what_the_stored_action_led_to(tmp_path: Path) -> None:
    batch = sampled(collected(tmp_path, 40))
    places = batch.frames[..., 0].float().sum(2).argmax(-1) // 3
    moved = places[:, 1:] - places[:, :-1]
    inside = batch.mask & ~batch.terminated
    assert torch.equal(moved[inside], batch.actions[inside] - 1)


def test_the_return_of_an_episode_is_reported_at_its_end(tmp_path: Path) -> None:
    trainer = IRISTrainer("squares", config=short(), env=Squares(), directory=tmp_path, seed=2)
    reported = [trainer._collector.step().get("episode_return") for _ in range(60)]
    batch = trainer.replay.episodes.episodes()
    assert len([each for each in reported if each is not None]) == int(batch.finished.sum())
    assert set(reported) <= {None, 0.0, 1.0}


def test_prefill_takes_uniform_actions_and_asks_no_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wm_agent_iris.agent.IRISAgent.act", None)
    actions = sampled(collected(tmp_path, 20, prefill_steps=20))
    assert set(actions.actions[actions.mask].tolist()) == {0, 1, 2}


def fixed_action(monkeypatch: pytest.MonkeyPatch, action: int) -> list[Any]:
    """Let the policy always choose `action`; the memories it is handed."""
    memories: list[Any] = []

    def act(self: Any, frames: Any, state: Any = None, **options: Any) -> Any:
        memories.append(state)
        assert options["temperature"] == self.config.imagination.temperature
        return torch.tensor([action]), torch.tensor(float(len(memories)))

    monkeypatch.setattr("wm_agent_iris.agent.IRISAgent.act", act)
    return memories


def test_without_epsilon_the_policy_alone_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_action(monkeypatch, 2)
    batch = sampled(collected(tmp_path, 20, prefill_steps=0, epsilon=0.0))
    assert set(batch.actions[batch.mask].tolist()) == {2}


def test_epsilon_is_the_chance_of_a_uniform_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_action(monkeypatch, 1)
    trainer = collected(tmp_path, 600, prefill_steps=0, epsilon=0.3, replay_capacity=900)
    rows = trainer.replay.episodes.sample_stream(1, 600)
    others = float((rows.previous_actions[~rows.is_first] != 1).float().mean())
    assert abs(others - 0.3 * 2 / 3) < 0.06


def test_the_policys_memory_is_cleared_where_an_episode_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = fixed_action(monkeypatch, 2)
    trainer = collected(tmp_path, 20, prefill_steps=0, epsilon=0.0)
    starts = [i for i, memory in enumerate(memories) if memory is None]
    lengths = trainer.replay.episodes.episodes().steps
    assert starts == np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist()
