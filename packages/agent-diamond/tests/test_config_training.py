"""Epochs, steps and updates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from wm_agent_diamond.config import DiamondConfig
from wm_agent_diamond.config_training import CollectionConfig, ComponentSchedule
from wm_agent_diamond.games import OVERRIDES, advice
from wm_agent_diamond.presets import PRESETS, default_preset, preset
from wm_agent_diamond.settings import with_overrides, within_budget
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget


def test_the_paper_takes_100_000_steps_in_950_epochs_and_50_without() -> None:
    training = preset("paper").training
    assert training.epochs == 1000
    assert sum(training.collection.steps(epoch) for epoch in range(1, 1001)) == 100_000
    assert [training.collection.steps(epoch) for epoch in (1, 2, 950, 951)] == [5_100, 100, 100, 0]


def test_the_first_training_epoch_has_updates_of_its_own() -> None:
    schedule = ComponentSchedule(first_steps=9, steps_per_epoch=3)
    assert [schedule.updates(epoch) for epoch in (-1, 0, 1, 2, 3)] == [0, 0, 9, 3, 3]


def test_parts_must_fill_a_batch() -> None:
    with pytest.raises(ValidationError, match="no multiple"):
        ComponentSchedule(batch_size=32, micro_batch_size=5)


def test_at_most_is_not_below_at_least() -> None:
    with pytest.raises(ValidationError, match="below"):
        CollectionConfig(initial_steps=10, max_initial_steps=9)


@given(st.integers(1, 9_000), st.integers(0, 3_000), st.integers(1, 300))
def test_all_environment_steps_are_taken_and_no_more(total: int, initial: int, per_epoch: int) -> None:
    config = CollectionConfig(
        initial_steps=initial, max_initial_steps=9_000, steps_per_epoch=per_epoch, max_env_steps=total
    )
    counts = [config.steps(epoch) for epoch in range(1, config.epochs + 1)]
    assert sum(counts) == total
    assert all(count > 0 for count in counts)
    assert config.steps(config.epochs + 1) == 0


def test_a_budget_of_steps_and_epochs() -> None:
    config = within_budget(DiamondConfig(), TrainBudget(steps=6_000, epochs=12))
    assert config.training.collection.epochs == 10
    assert config.training.epochs == 12
    assert within_budget(DiamondConfig(), TrainBudget()) == DiamondConfig()


def test_a_value_is_set_by_its_dotted_name() -> None:
    config = with_overrides(DiamondConfig(), {"training.denoiser.batch_size": 8, "training.age_weights": [1.0]})
    assert (config.training.denoiser.batch_size, config.training.age_weights) == (8, (1.0,))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("imagination.horizn", 3, r"no setting 'imagination\.horizn'; did you mean imagination\.horizon"),
        ("training", {}, "no setting 'training'"),
        ("imagination.gamma", 2.0, r"imagination\.gamma"),
        ("training.age_weights", [], r"training\.age_weights"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused_by_name(name: str, value: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_overrides(DiamondConfig(), {name: value})


def test_the_small_gpu_preset_changes_no_value_of_the_method() -> None:
    paper, small = preset("paper"), preset("small-gpu")
    for name in ("denoiser", "rew_end_model", "actor_critic"):
        whole = getattr(small.training, name).model_copy(update={"micro_batch_size": None})
        assert whole == getattr(paper.training, name)
    assert small.model_copy(update={"training": paper.training, "compute": paper.compute}) == paper


def test_catch_is_tiny_unless_something_else_is_named() -> None:
    assert [default_preset(backend) for backend in ("catch", "atari", "gymnasium")] == ["tiny", "paper", "paper"]
    assert set(PRESETS) == {"tiny", "small-gpu", "paper"}
    with pytest.raises(UsageError, match="no preset 'huge'"):
        preset("huge")


def test_freeway_is_advised_to_take_a_low_temperature_until_it_does() -> None:
    (line,) = advice("ALE/Freeway-v5", DiamondConfig())
    assert "--set training.collection.temperature=0.01" in line
    overridden = with_overrides(DiamondConfig(), OVERRIDES["ALE/Freeway-v5"])
    assert advice("ALE/Freeway-v5", overridden) == []
    assert advice("ALE/Pong-v5", DiamondConfig()) == []
