"""The checks of an environment backend, in the order in which to mend what they find."""

from __future__ import annotations

from collections.abc import Callable

from wm_core.testing.env_manifest_checks import (
    check_api_version,
    check_backend,
    check_ids_resolve,
    check_manifest_is_light,
    check_name,
    check_patterns_cover_the_ids,
    check_protocols_set_fields,
    check_summary,
    check_unknown_game_is_refused,
)
from wm_core.testing.environments import EnvUnderTest
from wm_core.testing.game_checks import (
    check_close,
    check_ends_are_booleans,
    check_lanes_play_the_same_episode,
    check_observations_do_not_change_later,
    check_observations_lie_in_the_space,
    check_rewards_are_finite_numbers,
    check_same_seed_same_episode,
    check_same_seed_same_start,
    check_seeds_differ,
    check_spaces,
)
from wm_core.testing.spec_checks import (
    check_frame_stack_is_honoured,
    check_image_size_is_honoured,
    check_time_limit_is_honoured,
    check_unknown_option_is_refused,
)

EnvCheck = Callable[[EnvUnderTest], None]

OF_EVERY_ENVIRONMENT: tuple[EnvCheck, ...] = (
    check_manifest_is_light,
    check_name,
    check_api_version,
    check_summary,
    check_backend,
    check_patterns_cover_the_ids,
    check_ids_resolve,
    check_unknown_game_is_refused,
    check_protocols_set_fields,
    check_spaces,
    check_observations_lie_in_the_space,
    check_rewards_are_finite_numbers,
    check_ends_are_booleans,
    check_same_seed_same_start,
    check_same_seed_same_episode,
    check_observations_do_not_change_later,
    check_lanes_play_the_same_episode,
    check_image_size_is_honoured,
    check_frame_stack_is_honoured,
    check_time_limit_is_honoured,
    check_unknown_option_is_refused,
    check_close,
)
OF_ENVIRONMENTS_WITH_CHANCE: tuple[EnvCheck, ...] = (check_seeds_differ,)


def env_checks_that_apply(env: EnvUnderTest) -> list[EnvCheck]:
    """The checks of a backend; those of chance only where seeds matter."""
    return [*OF_EVERY_ENVIRONMENT, *(OF_ENVIRONMENTS_WITH_CHANCE if env.seeds_matter else ())]
