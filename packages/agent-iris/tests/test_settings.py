"""Configuration values by dotted name, and budgets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm_agent_iris.config import ComponentSchedule, IRISConfig, TrainingConfig
from wm_agent_iris.presets import PRESETS, default_preset, preset
from wm_agent_iris.settings import with_overrides, within_budget
from wm_core.errors import UsageError
from wm_core.specs import TrainBudget


def test_a_value_is_set_by_its_dotted_name() -> None:
    config = with_overrides(IRISConfig(), {"training.world_model.batch_size": 8, "imagination.lambda_": 0.9})
    assert (config.training.world_model.batch_size, config.imagination.lambda_) == (8, 0.9)
    assert config.training.tokenizer == IRISConfig().training.tokenizer


def test_a_list_is_taken_as_a_tuple() -> None:
    assert with_overrides(IRISConfig(), {"actor_critic.channels": [8, 8]}).actor_critic.channels == (8, 8)


def test_an_unknown_name_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match=r"no setting 'imagination\.horizn'; did you mean imagination\.horizon"):
        with_overrides(IRISConfig(), {"imagination.horizn": 3})


def test_a_bare_name_is_refused_with_its_full_one() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*imagination\.gamma"):
        with_overrides(IRISConfig(), {"gamma": 0.9})


def test_a_group_is_no_setting() -> None:
    with pytest.raises(UsageError, match="no setting 'training'"):
        with_overrides(IRISConfig(), {"training": {}})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("imagination.gamma", 2.0, r"imagination\.gamma"),
        ("imagination.gamma", "much", r"imagination\.gamma"),
        ("world_model.heads", 3, "not a multiple of heads"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, value: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_overrides(IRISConfig(), {name: value})


def test_a_budget_of_epochs_ends_after_them() -> None:
    config = within_budget(IRISConfig(), TrainBudget(epochs=7))
    assert config.training.last_epoch() == 7


def test_no_budget_leaves_the_preset() -> None:
    assert within_budget(IRISConfig(), TrainBudget()) == IRISConfig()


@given(st.integers(1, 40_000), st.integers(0, 500), st.integers(1, 300))
def test_a_budget_of_steps_is_what_is_collected_or_all_there_is(steps: int, prefill: int, per_epoch: int) -> None:
    training = TrainingConfig(prefill_steps=prefill, env_steps_per_epoch=per_epoch, epochs=60, collection_epochs=50)
    config = within_budget(IRISConfig(training=training), TrainBudget(steps=steps))
    counts = [config.training.collection_steps(epoch) for epoch in range(1, config.training.last_epoch() + 1)]
    assert sum(counts) == min(steps, prefill + 50 * per_epoch)
    assert all(count > 0 for count in counts[:50])


def test_the_paper_collects_100_000_steps_in_500_of_600_epochs() -> None:
    training = preset("paper").training
    assert sum(training.collection_steps(epoch) for epoch in range(1, 601)) == 100_000
    assert training.collection_steps(500) == 200
    assert training.collection_steps(501) == 0


def test_components_of_the_paper_begin_in_epochs_6_26_and_51() -> None:
    training = preset("paper").training
    for schedule, first in ((training.tokenizer, 6), (training.world_model, 26), (training.actor_critic, 51)):
        assert [schedule.updates(epoch) for epoch in (first - 1, first, 600)] == [0, 200, 200]


def test_a_component_can_start_with_more_updates_and_stop() -> None:
    schedule = ComponentSchedule(
        start_after_epoch=2, stop_after_epoch=4, first_steps=9, steps_per_epoch=3, batch_size=1
    )
    assert [schedule.updates(epoch) for epoch in range(1, 7)] == [0, 0, 12, 3, 0, 0]


def test_the_small_gpu_preset_changes_no_value_of_the_method() -> None:
    paper, small = preset("paper"), preset("small-gpu")
    for group in ("tokenizer", "world_model", "actor_critic", "imagination"):
        assert getattr(paper, group) == getattr(small, group)
    for name in ("tokenizer", "world_model", "actor_critic"):
        whole = getattr(small.training, name).model_copy(update={"micro_batch_size": None})
        assert whole == getattr(paper.training, name)


def test_catch_is_tiny_unless_something_else_is_named() -> None:
    assert [default_preset(backend) for backend in ("catch", "atari", "gymnasium")] == ["tiny", "paper", "paper"]
    assert set(PRESETS) == {"tiny", "small-gpu", "paper"}
