"""Presets, values set by dotted name, budgets, and the counting of epochs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.config_training import TrainingConfig
from wm_agent_dreamer.epochs import Epochs
from wm_agent_dreamer.plugin import MANIFESTS
from wm_agent_dreamer.presets import PRESETS, default_preset, preset
from wm_agent_dreamer.settings import with_overrides, within_budget
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget

ALL = [(agent, name) for agent, presets in PRESETS.items() for name in presets]


@pytest.mark.parametrize(("agent", "name"), ALL)
def test_every_preset_is_a_valid_configuration(agent: str, name: str) -> None:
    assert DreamerConfig.model_validate(preset(agent, name).model_dump()) == preset(agent, name)


def test_the_manifests_list_the_presets_there_are() -> None:
    assert {name: each.presets for name, each in MANIFESTS.items()} == {
        agent: tuple(presets) for agent, presets in PRESETS.items()
    }


@pytest.mark.parametrize(
    ("agent", "name", "every"),
    [
        ("dreamerv1", "dmc", 5.0),
        ("dreamerv2", "atari", 16.0),
        ("dreamerv2", "dmc", 5.0),
        ("dreamerv3", "size12m", 32.0),
        ("dreamerv3", "atari100k", 4.0),
    ],
)
def test_updates_come_as_often_as_published(agent: str, name: str, every: float) -> None:
    assert 1 / preset(agent, name).training.updates_per_step == every


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(UsageError, match="dreamerv1 has no preset 'size12m'; choose one of tiny, dmc, atari"):
        preset("dreamerv1", "size12m")


def test_catch_is_tiny_unless_something_else_is_named() -> None:
    assert {default_preset(agent, "catch") for agent in PRESETS} == {"tiny"}
    assert default_preset("dreamerv2", "atari") == "atari"


def test_the_actors_gradient_can_be_chosen() -> None:
    assert with_overrides(preset("dreamerv1", "dmc"), {"actor.grad": "reinforce"}).actor.grad == "reinforce"


def test_an_unknown_name_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match=r"dreamerv2 has no setting 'actor\.grd'; did you mean actor\.grad"):
        with_overrides(preset("dreamerv2", "tiny"), {"actor.grd": "both"}, "dreamerv2")


@pytest.mark.parametrize(
    ("name", "value", "said"), [("actor.grad", "none", r"actor\.grad"), ("heads.bins", 4, "no bin at 0")]
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, value: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_overrides(DreamerConfig(), {name: value})


def test_a_budget_ends_with_the_earlier_of_epochs_and_steps() -> None:
    config = preset("dreamerv3", "tiny")
    assert within_budget(config, TrainBudget(epochs=3)).training.env_steps == 1200
    assert within_budget(config, TrainBudget(epochs=3, steps=700)).training.env_steps == 700
    assert within_budget(config, TrainBudget()) == config


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.integers(0, 200), st.integers(201, 3000), st.integers(1, 500), st.integers(0, 5))
def test_epochs_hold_every_round_once(num_envs: int, prefill: int, steps: int, per_epoch: int, pretrain: int) -> None:
    training = TrainingConfig(
        env_steps=steps + num_envs * 9,
        env_steps_per_epoch=per_epoch,
        num_envs=num_envs,
        prefill_steps=prefill + num_envs,
        sequence_length=2,
        pretrain_updates=pretrain,
    )
    epochs = Epochs(training)
    numbers = range(1, epochs.count + 1)
    prefilled = sum(epochs.prefill_rounds(epoch) for epoch in numbers)
    assert prefilled == -(-training.prefill_steps // num_envs)
    assert prefilled + sum(epochs.rounds(epoch) for epoch in numbers) == training.env_steps // num_envs
    assert sum(epochs.pretraining_updates(epoch) for epoch in numbers) == pretrain
    first = next(epoch for epoch in numbers if epochs.rounds(epoch))
    assert all(epochs.prefill_rounds(epoch) == 0 for epoch in numbers if epoch > first)
    assert pretrain == epochs.pretraining_updates(first)


@given(st.integers(0, 2000))
def test_exploration_falls_linearly_and_stays(updates: int) -> None:
    training = TrainingConfig(epsilon=0.4, epsilon_final=0.1, epsilon_decay_updates=1000)
    assert training.exploration(updates) == pytest.approx(max(0.4 - 0.3 * updates / 1000, 0.1))
