"""The checks of an agent, in the order in which to mend what they find."""

from __future__ import annotations

from collections.abc import Callable

from wm_core.errors import PluginError
from wm_core.protocols import Acts
from wm_core.testing.acting_checks import (
    check_a_starting_lane_leaves_the_others_alone,
    check_actions_lie_in_the_space,
    check_episodes_start_afresh,
    check_evaluate_is_reproducible,
    check_evaluate_returns_numbers,
    check_global_random_state_is_left_alone,
    check_idle_lanes_are_tolerated,
    check_lanes_do_not_touch_each_other,
    check_observations_are_not_written_to,
    check_same_seed_same_actions,
)
from wm_core.testing.agent_manifest_checks import (
    check_adapter,
    check_api_version,
    check_capabilities,
    check_demo,
    check_devices,
    check_env_defaults,
    check_manifest_is_light,
    check_name,
    check_presets_differ,
    check_summary,
)
from wm_core.testing.agents import AgentUnderTest
from wm_core.testing.weights_checks import (
    check_missing_checkpoint_is_refused,
    check_pickles_are_not_executed,
    check_random_bytes_are_refused,
    check_there_are_weights,
    check_training_goes_on,
    check_training_keeps_to_its_budget,
    check_training_leaves_a_checkpoint,
    check_truncated_checkpoint_is_refused,
    check_unknown_setting_is_refused,
    check_weights_decide_the_actions,
)

AgentCheck = Callable[[AgentUnderTest], None]

OF_EVERY_AGENT: tuple[AgentCheck, ...] = (
    check_manifest_is_light,
    check_name,
    check_api_version,
    check_summary,
    check_presets_differ,
    check_devices,
    check_env_defaults,
    check_demo,
    check_adapter,
    check_capabilities,
    check_missing_checkpoint_is_refused,
    check_random_bytes_are_refused,
    check_pickles_are_not_executed,
)
OF_AGENTS_THAT_ACT: tuple[AgentCheck, ...] = (
    check_actions_lie_in_the_space,
    check_same_seed_same_actions,
    check_observations_are_not_written_to,
    check_episodes_start_afresh,
    check_lanes_do_not_touch_each_other,
    check_a_starting_lane_leaves_the_others_alone,
    check_idle_lanes_are_tolerated,
    check_global_random_state_is_left_alone,
)
OF_EVALUATE: tuple[AgentCheck, ...] = (check_evaluate_returns_numbers, check_evaluate_is_reproducible)
OF_AGENTS_THAT_NEED_WEIGHTS: tuple[AgentCheck, ...] = (check_there_are_weights,)
OF_WEIGHTS: tuple[AgentCheck, ...] = (
    check_weights_decide_the_actions,
    check_truncated_checkpoint_is_refused,
)
OF_AGENTS_THAT_TRAIN: tuple[AgentCheck, ...] = (
    check_training_leaves_a_checkpoint,
    check_training_keeps_to_its_budget,
    check_training_goes_on,
    check_unknown_setting_is_refused,
)


def checks_that_apply(agent: AgentUnderTest) -> list[AgentCheck]:
    """The checks for what the manifest offers and the adapter can do, in the order in which to mend."""
    checks = list(OF_EVERY_AGENT)
    if _acts(agent):
        checks += OF_AGENTS_THAT_ACT
    checks += OF_EVALUATE
    trains = "train" in agent.manifest.capabilities
    if agent.manifest.needs_checkpoint:
        checks += OF_AGENTS_THAT_NEED_WEIGHTS
    if agent.checkpoint is not None or trains:
        checks += OF_WEIGHTS
    if trains:
        checks += OF_AGENTS_THAT_TRAIN
    return checks


def _acts(agent: AgentUnderTest) -> bool:
    """Whether the adapter is a policy over lanes; an adapter that does not import fails `check_adapter` instead."""
    try:
        return issubclass(agent.adapter_class, Acts)
    except PluginError:
        return False
