from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import CheckpointError, EnvironmentFailure, UsageError
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.state_tree import join_state, split_state


class Lives(gymnasium.Env):
    """A game of three lives with hidden state; a reset after a lost life goes on with the game."""

    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Box(0, 255, (2, 2, 1), np.uint8)

    def __init__(self) -> None:
        self.lives = 0
        self.fresh_starts = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if self.lives == 0:
            self.lives, self.score = 3, 0
            self.fresh_starts += 1
        return self._image(), {"lives": self.lives}

    def step(self, action: int) -> Any:
        self.score = (self.score * 3 + action + int(self.np_random.integers(100))) % 256
        dies = self.score % 4 == 0
        self.lives -= dies
        return self._image(), float(self.score), dies, False, {"lives": self.lives}

    def _image(self) -> np.ndarray:
        return np.full((2, 2, 1), self.score, np.uint8)


class AlwaysFresh(Lives):
    """The same game, begun anew by every reset."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.lives = 0
        return super().reset(seed=seed)


def play(env: ReplayableEnv, actions: list[int]) -> list[Any]:
    seen = []
    for action in actions:
        if env.episode_over:
            seen.append(env.reset()[0].tolist())
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.append((np.asarray(observation).tolist(), reward, terminated, truncated))
    return seen


def saved(env: ReplayableEnv) -> Any:
    tensors, tree = split_state(env.state_dict())
    return join_state(tensors, tree)


@settings(deadline=None, max_examples=40)
@given(
    before=st.lists(st.integers(0, 2), max_size=30),
    after=st.lists(st.integers(0, 2), min_size=1, max_size=20),
    life_loss=st.booleans(),
)
def test_a_restored_environment_goes_on_as_the_saved_one(before: list, after: list, life_loss: bool) -> None:
    def make() -> ReplayableEnv:
        game = Lives() if life_loss else AlwaysFresh()
        return ReplayableEnv(game, seed=4, life_loss_ends_episode=life_loss)

    env = make()
    play(env, before)
    state, observation = saved(env), env.observation
    expected = play(env, after)
    other = make()
    other.load_state_dict(state)
    assert other.observation is None if observation is None else (other.observation == observation).all()
    assert play(other, after) == expected
    assert saved(other)["seeds"].tolist() == saved(env)["seeds"].tolist()


def test_cartpole_with_float_observations_and_every_reset_its_own_seed() -> None:
    env = ReplayableEnv(gymnasium.make("CartPole-v1"), seed=0)
    starts = [env.reset()[0].tolist() for _ in range(3)]
    assert len({tuple(start) for start in starts}) == 3
    play(env, [1, 0, 1])
    other = ReplayableEnv(gymnasium.make("CartPole-v1"), seed=0)
    other.load_state_dict(saved(env))
    assert play(other, [0] * 20) == play(env, [0] * 20)
    again = ReplayableEnv(gymnasium.make("CartPole-v1"), seed=0)
    assert [again.reset()[0].tolist() for _ in range(3)] == starts


def test_the_memory_holds_one_game_and_not_the_whole_training() -> None:
    env = ReplayableEnv(Lives(), seed=0, life_loss_ends_episode=True)
    longest = 0
    for _ in range(300):
        play(env, [1])
        longest = max(longest, len(saved(env)["seeds"]))
    assert env.env.unwrapped.fresh_starts > 5
    assert longest < 100
    assert (saved(env)["seeds"] >= 0).sum() <= 3


def test_an_environment_that_does_not_repeat_itself_is_found_out() -> None:
    env = ReplayableEnv(Lives(), seed=0)
    play(env, [1, 2, 0])

    class Drifting(Lives):
        def step(self, action: int) -> Any:
            self.score += self.np_random.integers(2) if self.score > -1 else 0
            return super().step(action)

    with pytest.raises(EnvironmentFailure, match=r"Drifting did not repeat itself: operation [123] of"):
        ReplayableEnv(Drifting(), seed=0).load_state_dict(saved(env))


def test_a_forgotten_life_loss_flag_is_found_out() -> None:
    env = ReplayableEnv(Lives(), seed=1)
    while env.env.unwrapped.lives in (0, 3):
        play(env, [1])
    play(env, [1, 1])
    with pytest.raises(EnvironmentFailure, match="did not repeat itself"):
        ReplayableEnv(Lives(), seed=1).load_state_dict(saved(env))


def test_continuous_actions_and_nested_observations_are_restored() -> None:
    class Nested(gymnasium.Env):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.x = self.np_random.random(2)
            return {"x": (self.x.copy(),)}, {}

        def step(self, action: np.ndarray) -> Any:
            self.x = self.x + action
            return {"x": (self.x.copy(),)}, 0.0, False, False, {}

    env = ReplayableEnv(Nested(), seed=0)
    env.reset()
    env.step(np.array([0.5, -1.0]))
    other = ReplayableEnv(Nested(), seed=0)
    other.load_state_dict(saved(env))
    assert (other.observation["x"][0] == env.observation["x"][0]).all()


def test_reset_options_and_damaged_states_are_refused() -> None:
    env = ReplayableEnv(Lives(), seed=0)
    with pytest.raises(UsageError, match="no reset options"):
        env.reset(options={"level": 3})
    play(env, [1])
    with pytest.raises(CheckpointError, match="damaged"):
        ReplayableEnv(Lives(), seed=0).load_state_dict({**saved(env), "actions": np.empty(0, np.int64)})


class Logging(gymnasium.Wrapper):
    """Keeps the scores of all steps, as a learning run's log."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.scores: list[float] = [-1.0]

    def step(self, action: int) -> Any:
        result = super().step(action)
        self.scores.append(result[1])
        return result

    def log_state(self) -> dict[str, Any]:
        return {"scores": list(self.scores)}

    def restore_log(self, state: dict[str, Any] | None) -> None:
        self.scores = [] if state is None else list(state["scores"])


def test_the_log_of_a_learning_run_is_restored_with_the_environment() -> None:
    def make() -> tuple[Logging, ReplayableEnv]:
        log = Logging(Lives())
        return log, ReplayableEnv(gymnasium.wrappers.TransformReward(log, lambda reward: -reward), 0, True)

    log, env = make()
    assert log.scores == []
    play(env, [1, 2] * 20)
    state, until = saved(env), list(log.scores)
    assert len(until) == 40
    expected = play(env, [0, 1])
    other_log, other = make()
    other.load_state_dict(state)
    assert other_log.scores == until
    assert play(other, [0, 1]) == expected
    assert other_log.scores == log.scores


def test_a_state_without_the_log_cannot_go_on_with_one() -> None:
    env = ReplayableEnv(Lives(), seed=0)
    play(env, [1])
    with pytest.raises(CheckpointError, match="saved by a training that kept none"):
        ReplayableEnv(Logging(Lives()), seed=0).load_state_dict(saved(env))
