"""How a game plays: its spaces, its rewards and ends, its seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from numbers import Real
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.specs import EnvSpec
from wm_core.testing.environments import EnvUnderTest, Step, describe
from wm_core.testing.equality import same
from wm_core.testing.faults import ConformanceError, require, require_same
from wm_core.testing.manifests import known

_DRAW_FROM_NP_RANDOM = "call super().reset(seed=seed), and draw every random number from self.np_random"


def check_spaces(env: EnvUnderTest) -> None:
    """The game says what it shows and what it takes."""
    with env.made() as game:
        for name in ("observation_space", "action_space"):
            space = getattr(game, name, None)
            require(
                isinstance(space, gymnasium.Space),
                rule=f"an environment has an {name}, a gymnasium.Space",
                seen=f"{name} is {space!r}",
                mend=f"set self.{name} in __init__",
            )


def check_observations_lie_in_the_space(env: EnvUnderTest) -> None:
    """What is shown is what the space says."""
    with env.made() as game:
        for number, step in enumerate(env.play(game, seed=0)):
            require(
                game.observation_space.contains(step.observation),
                rule=f"every observation lies in {game.observation_space}",
                seen=f"the one after step {number} does not: {describe(step.observation)}",
                mend="mend its shape, dtype or range, or the space",
            )


def check_rewards_are_finite_numbers(env: EnvUnderTest) -> None:
    """A return can be summed up."""
    with env.made() as game:
        for reward, _, _ in _outcomes(env.play(game, seed=0)):
            require(
                isinstance(reward, Real | np.number) and math.isfinite(float(reward)),
                rule="a reward is a finite number",
                seen=f"step() returned {reward!r}",
                mend="return a float",
            )


def check_ends_are_booleans(env: EnvUnderTest) -> None:
    """Terminated and truncated are two separate truths."""
    with env.made() as game:
        for _, terminated, truncated in _outcomes(env.play(game, seed=0)):
            require(
                all(isinstance(end, bool | np.bool_) for end in (terminated, truncated)),
                rule="step() returns terminated and truncated as booleans",
                seen=f"it returned {terminated!r} and {truncated!r}",
                mend="return bool(...) for each: terminated is the game's own end, truncated a time limit's",
            )


def check_same_seed_same_start(env: EnvUnderTest) -> None:
    """Two resets with a seed show the same."""
    with env.made() as game:
        first, second = ([Step(deepcopy(game.reset(seed=seed)[0])) for seed in range(5)] for _ in range(2))
    _require_same_steps(
        first,
        second,
        rule="reset(seed) decides the first observation",
        seen="reset with the seeds 0 to 4, and again, it differed at",
    )


def check_same_seed_same_episode(env: EnvUnderTest) -> None:
    """A seed and the actions decide everything that follows."""
    with env.made() as one, env.made() as other:
        _require_same_steps(
            env.play(one, seed=5),
            env.play(other, seed=5),
            rule="reset(seed) and the actions decide the whole episode",
            seen="two environments with equal seeds and actions differed at",
        )


def check_seeds_differ(env: EnvUnderTest) -> None:
    """Other seeds, other episodes."""
    with env.made() as game:
        first, *others = ([step.parts() for step in env.play(game, seed)] for seed in range(6))
    require(
        any(not same(first, other) for other in others),
        rule="seeds change something",
        seen="six seeds, with the same actions, gave the same episode",
        mend=f"{_DRAW_FROM_NP_RANDOM}; for a game without chance, check with seeds_matter=False",
    )


def check_observations_do_not_change_later(env: EnvUnderTest) -> None:
    """What was handed out stays as it was."""
    with env.made() as game:
        actions = deepcopy(game.action_space)
        actions.seed(0)
        kept, _ = game.reset(seed=0)
        before = deepcopy(kept)
        for _ in range(3):
            *_, terminated, truncated, _ = game.step(actions.sample())
            if terminated or truncated:
                game.reset()
    require(
        same(before, kept),
        rule="an observation that was returned stays as it is",
        seen="the first one had changed after three more steps",
        mend="return a copy, or a new array each time",
    )


def check_lanes_play_the_same_episode(env: EnvUnderTest) -> None:
    """A seed gives the same episode alone and in any lane, also in a vector environment of the backend's own."""
    with known(env.manifest):
        spec = resolve_env(env.game, backend=env.manifest.name)
        alone, among = (_play_lane(spec, lanes, lane) for lanes, lane in ((1, 0), (3, 1)))
    _require_same_steps(
        alone,
        among,
        rule="an episode is the same whatever else is played beside it",
        seen="alone and as the second of three lanes, it differed at",
    )


def check_close(env: EnvUnderTest) -> None:
    """Closing works, and does no harm a second time."""
    game = env.backend.make(env.spec)
    env.play(game, seed=0, steps=2)
    game.close()
    try:
        game.close()
    except Exception as error:
        raise ConformanceError(
            "close() may be called twice",
            f"a second close() raised {type(error).__name__}: {error}",
            "let go only of what is still held",
        ) from error


def _outcomes(played: list[Step]) -> Iterator[tuple[Any, Any, Any]]:
    return (step.outcome for step in played if step.outcome is not None)


def _require_same_steps(one: list[Step], other: list[Step], *, rule: str, seen: str) -> None:
    require_same(
        [step.parts() for step in one],
        [step.parts() for step in other],
        rule=rule,
        seen=seen,
        mend=_DRAW_FROM_NP_RANDOM,
    )


def _play_lane(spec: EnvSpec, lanes: int, lane: int) -> list[Step]:
    """The episode of seed 5, played in one lane, while the others play episodes of other seeds."""
    seeds = np.arange(100, 100 + lanes)
    seeds[lane] = 5
    with closing(make_vector(spec, lanes)) as envs:
        actions = deepcopy(envs.single_action_space)
        actions.seed(0)

        def of_lane(batch: Any) -> Any:
            return deepcopy(list(iterate(batch_space(envs.single_observation_space, lanes), batch))[lane])

        observations, _ = envs.reset(seed=seeds, options={"reset_mask": np.ones(lanes, bool)})
        played = [Step(of_lane(observations))]
        for _ in range(20):
            empty: Any = create_empty_array(actions, lanes)
            batch = concatenate(actions, [actions.sample()] * lanes, empty)
            observations, rewards, terminated, truncated, _ = envs.step(batch)
            played.append(Step(of_lane(observations), (rewards[lane], terminated[lane], truncated[lane])))
            if terminated[lane] or truncated[lane]:
                break
    return played
