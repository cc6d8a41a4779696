"""How an agent plays: its results, its actions, its seeds, its lanes."""

from __future__ import annotations

import random
import sys
from copy import deepcopy
from typing import Any

import numpy as np
from pydantic import ValidationError

from wm_core.errors import AgentFailure
from wm_core.protocols import EvaluationResult
from wm_core.rollout import action_check
from wm_core.testing.agents import AgentUnderTest, ShownEpisode
from wm_core.testing.equality import same
from wm_core.testing.faults import ConformanceError, require, require_same

_DRAW_FROM_SEEDS = "draw each lane's random numbers from a generator made of the seed that reset() is handed for it"


def check_evaluate_returns_numbers(agent: AgentUnderTest) -> None:
    """`evaluate(3)` returns three finite returns."""
    rule = "evaluate(n) returns {'episode_returns': [n finite numbers]}"
    raw = agent.ready(lanes=2).evaluate(3)
    try:
        result = EvaluationResult.model_validate(dict(raw))
    except (TypeError, ValueError, ValidationError) as error:
        seen = f"evaluate(3) returned {str(raw)[:80]!r}: {' '.join(str(error).split())[:120]}"
        raise ConformanceError(rule, seen, "return such a dict") from error
    lengths = result.episode_lengths
    require(
        len(result.episode_returns) == 3 and (lengths is None or len(lengths) == 3),
        rule=rule,
        seen=f"evaluate(3) returned {len(result.episode_returns)} returns and {lengths} as lengths",
        mend="play exactly as many episodes as asked for, each to its end",
    )


def check_evaluate_is_reproducible(agent: AgentUnderTest) -> None:
    """Two agents with one seed measure the same returns."""
    one, other = (agent.ready(seed=3, lanes=2).evaluate(3)["episode_returns"] for _ in range(2))
    require_same(
        one,
        other,
        rule="equal seeds measure equal returns",
        seen="two fresh adapters with context.seed=3 returned different ones, at",
        mend="seed the environment and the policy from context.seed",
    )


def check_actions_lie_in_the_space(agent: AgentUnderTest) -> None:
    """A batch of observations is answered by a batch of actions."""
    lanes = len(agent.episodes)
    check = action_check(agent.spaces[1], lanes)
    adapter = agent.ready(lanes=lanes)
    adapter.reset(np.ones(lanes, bool), np.arange(lanes, dtype=np.int64))
    for step in range(3):
        shown = [episode.observations[step % len(episode.observations)] for episode in agent.episodes]
        actions = adapter.act(agent.batch(shown))
        try:
            check(actions)
        except AgentFailure as error:
            raise ConformanceError(
                f"act() returns one action of {agent.spaces[1]} for each lane",
                f"with {lanes} lanes, {error}",
                "return a batch in the order of the lanes",
            ) from error


def check_same_seed_same_actions(agent: AgentUnderTest) -> None:
    """Two agents with the same weights, seeds and observations act alike."""
    first, second = (_alone(agent, shown) for shown in [agent.episodes[0]] * 2)
    require_same(
        first,
        second,
        rule="equal weights, observations and seeds give equal actions",
        seen="two fresh adapters differed at",
        mend=_DRAW_FROM_SEEDS,
    )


def check_observations_are_not_written_to(agent: AgentUnderTest) -> None:
    """Observations are read-only."""
    adapter = agent.ready()
    shown = agent.episodes[0]
    adapter.reset(np.array([True]), np.array([shown.seed]))
    batch = agent.batch(shown.observations[:1])
    before = deepcopy(batch)
    adapter.act(batch)
    require(
        same(before, batch),
        rule="act() does not write to the observations, which may be the environment's own memory",
        seen="they had changed when act() returned",
        mend="work on a copy: beware of /=, of out=, and of torch.from_numpy with in-place operations",
    )


def check_episodes_start_afresh(agent: AgentUnderTest) -> None:
    """An episode played second is the same as the same episode played first."""
    first, second, _ = agent.episodes
    after_another = agent.actions(agent.ready(), [[first, second]])[0][1]
    require_same(
        _alone(agent, second),
        after_another,
        rule="an episode is the same whatever was played before it",
        seen="played first and played after another, it differed at",
        mend="in reset(starts, seeds), clear the memory of the lanes that start and renew their generators",
    )


def check_lanes_do_not_touch_each_other(agent: AgentUnderTest) -> None:
    """An episode in a batch is the same as the same episode alone."""
    lanes = len(agent.episodes)
    together = agent.actions(agent.ready(lanes=lanes), [[shown] for shown in agent.episodes])
    for shown, (acted,) in zip(agent.episodes, together, strict=True):
        require_same(
            _alone(agent, shown),
            acted,
            rule="an episode is the same whatever else is in the batch",
            seen=f"alone and among {lanes} lanes, it differed at",
            mend=f"{_DRAW_FROM_SEEDS}, and compute no statistics across lanes",
        )


def check_a_starting_lane_leaves_the_others_alone(agent: AgentUnderTest) -> None:
    """`reset` begins anew only where `starts` is true."""
    long, short, third = agent.episodes
    beside = agent.actions(agent.ready(lanes=2), [[long], [short, third]])[0][0]
    require_same(
        _alone(agent, long),
        beside,
        rule="reset(starts, seeds) leaves alone the lanes where starts is false",
        seen="beside a lane that started again in mid-episode, an episode differed at",
        mend="write to the memory, generators and hidden states of the starting lanes only",
    )


def check_idle_lanes_are_tolerated(agent: AgentUnderTest) -> None:
    """A lane that never started is answered too, with anything; a resumed run has such lanes."""
    rule = "act() answers for lanes that never started too, and the others are as ever"
    mend = "make room for every lane in the first reset(), whatever `starts` says"
    shown = agent.episodes[0]
    adapter = agent.ready(lanes=3)
    try:
        adapter.reset(np.array([False, True, False]), np.array([0, shown.seed, 0]))
        batches = [agent.batch([observation] * 3) for observation in shown.observations]
        acted = [agent.split_actions(adapter.act(batch), 3)[1] for batch in batches]
    except Exception as error:
        seen = f"with only the second of three lanes started, {type(error).__name__}: {error}"
        raise ConformanceError(rule, seen, mend) from error
    seen = "alone and between two idle lanes, an episode differed at"
    require_same(_alone(agent, shown), acted, rule=rule, seen=seen, mend=mend)


def check_global_random_state_is_left_alone(agent: AgentUnderTest) -> None:
    """Acting draws from generators of the agent's own."""
    adapter = agent.ready()
    before = _global_random_states()
    agent.actions(adapter, [agent.episodes[:1]])
    for library, state in _global_random_states().items():
        require(
            library not in before or same(before[library], state),
            rule="acting leaves the process's global random generators alone",
            seen=f"the global state of {library} had changed",
            mend=_DRAW_FROM_SEEDS,
        )


def _alone(agent: AgentUnderTest, shown: ShownEpisode) -> list[Any]:
    return agent.actions(agent.ready(), [[shown]])[0][0]


def _global_random_states() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()}
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = torch.get_rng_state().numpy()
    return states
