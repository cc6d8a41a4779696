"""One Atari game, preprocessed: pinned to raw frames of the bare emulator."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from ale_py import Action
from PIL import Image

from wm_core.envs.atari import AtariBackend
from wm_core.envs.atari_env import AtariGame


def make(spec: Any) -> Any:
    return AtariBackend().make(spec)


def shrink(frame: Any, size: tuple[int, int] | None, filter_: str) -> Any:
    """Resizing, straight from the libraries."""
    if size is None:
        return frame
    if filter_ == "pil-bilinear":
        return np.array(Image.fromarray(frame).resize(size[::-1], Image.Resampling.BILINEAR))
    how = {"cv2-area": cv2.INTER_AREA, "cv2-bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST}[filter_]
    return cv2.resize(frame, size[::-1], interpolation=how)


PIPELINES = [
    {"frame_skip": 4},
    {"frame_skip": 1, "max_pool": "before_resize"},
    {"frame_skip": 4, "sticky_actions": 0.25, "image_size": (64, 64), "max_pool": "before_resize"},
    {"frame_skip": 4, "image_size": (64, 64), "max_pool": "after_resize", "resize": "pil-bilinear"},
    {"frame_skip": 3, "image_size": (84, 84), "max_pool": "before_resize", "observation": "gray"},
    {"frame_skip": 2, "image_size": (84, 60), "max_pool": "none", "resize": "cv2-bilinear"},
    {"frame_skip": 4, "image_size": (30, 20), "max_pool": "after_resize", "resize": "nearest", "observation": "gray"},
]


@pytest.mark.parametrize("fields", PIPELINES, ids=lambda fields: "-".join(map(str, fields.values())))
def test_a_whole_game_is_what_the_raw_frames_give(
    fields: dict[str, Any], atari: Any, emulator: Any, random_actions: Any
) -> None:
    spec = atari("BreakoutNoFrameskip-v4", **fields)
    env, ale = make(spec), emulator("breakout", 11, spec.sticky_actions)
    gray, pool, skip = spec.observation == "gray", spec.max_pool, spec.frame_skip

    def picture(frames: list[Any]) -> Any:
        small = [shrink(f, spec.image_size, spec.resize) for f in frames] if pool == "after_resize" else frames
        one = np.max(small, axis=0)
        one = one if pool == "after_resize" else shrink(one, spec.image_size, spec.resize)
        return one[..., None] if gray else one

    grab = ale.getScreenGrayscale if gray else ale.getScreenRGB
    observation, info = env.reset(seed=11)
    assert np.array_equal(observation, picture([grab()]))
    assert info == {"lives": 5, "frames": 0}
    frames_so_far = 0
    for action in random_actions(4, 3):
        observation, reward, terminated, truncated, info = env.step(action)
        frames, points = [], 0
        for _ in range(skip):
            points += ale.act(ale.getMinimalActionSet()[action])
            frames.append(grab())
            if ale.game_over():
                break
        frames_so_far += len(frames)
        whole = len(frames) == skip
        seen = frames[-2:] if whole and pool != "none" else frames[-1:]
        assert np.array_equal(observation, picture(seen))
        assert (reward, terminated, truncated) == (points, ale.game_over(), False)
        assert info == {"lives": ale.lives(), "frames": frames_so_far}
        assert env.observation_space.contains(observation)
        if terminated or frames_so_far > 1200:
            break


def test_a_game_that_ends_inside_a_skip_shows_its_own_last_frame(atari: Any, emulator: Any) -> None:
    ends, changed = set(), False
    for seed in (3, 6):
        env = make(atari("BreakoutNoFrameskip-v4", frame_skip=4, max_pool="before_resize"))
        ale, rng = emulator("breakout", seed), np.random.default_rng(seed)
        env.reset(seed=seed)
        terminated = False
        while not terminated:
            action = int(rng.integers(4))
            before = ale.getScreenRGB()
            observation, _, terminated, _, _ = env.step(action)
            frames = []
            while len(frames) < 4 and not ale.game_over():
                ale.act(ale.getMinimalActionSet()[action])
                frames.append(ale.getScreenRGB())
        ends.add(len(frames))
        expected = np.maximum(*frames[-2:]) if len(frames) == 4 else frames[-1]
        assert np.array_equal(observation, expected)
        changed |= len(frames) < 4 and not np.array_equal(observation, before)
    assert len(ends) > 1, "games were to end at different frames of a skip"
    assert changed, "the last frame was to differ from the one before the skip"


def test_v4_ids_hold_an_action_for_two_three_or_four_frames(atari: Any) -> None:
    env = make(atari("Pong-v4"))
    frames = [env.reset(seed=0)[1]["frames"], *(env.step(0)[4]["frames"] for _ in range(60))]
    assert set(np.diff(frames)) == {2, 3, 4}


def test_v0_ids_are_sticky_and_v4_ids_are_not(atari: Any, random_actions: Any) -> None:
    def screens(game: str, seed: int) -> Any:
        env = make(atari(game, image_size=(42, 32)))
        env.reset(seed=seed)
        actions = random_actions(6, 1)
        return np.array([env.step(next(actions))[0] for _ in range(100)])

    assert np.array_equal(screens("PongNoFrameskip-v4", 1), screens("PongNoFrameskip-v4", 2))
    assert not np.array_equal(screens("PongNoFrameskip-v0", 1), screens("PongNoFrameskip-v0", 2))


def test_the_time_limit_counts_raw_frames_and_truncates(atari: Any) -> None:
    env = make(atari("ALE/Pong-v5", max_frames=10))
    env.reset(seed=0)
    seen = [env.step(0) for _ in range(3)]
    assert [(s[2], s[3], s[4]["frames"]) for s in seen] == [(False, False, 4), (False, False, 8), (False, True, 10)]
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_no_op_starts_are_one_to_noop_max_raw_frames(atari: Any, emulator: Any) -> None:
    env = make(atari("ALE/Pong-v5", noop_max=2, sticky_actions=0.0))
    counts = []
    for seed in range(10):
        observation, info = env.reset(seed=seed)
        counts.append(env.unwrapped.ale.getEpisodeFrameNumber())
        assert info["frames"] == 0
    assert set(counts) == {1, 2}
    ale = emulator("pong", 9)
    for _ in range(counts[-1]):
        ale.act(Action.NOOP)
    assert np.array_equal(observation, ale.getScreenRGB())


def test_no_op_frames_are_not_counted_against_the_time_limit(atari: Any) -> None:
    env = make(atari("ALE/Pong-v5", noop_max=30, max_frames=8))
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]


def test_fire_on_reset_is_one_frame_where_the_action_set_has_it(atari: Any, emulator: Any) -> None:
    observation, _ = make(atari("ALE/Breakout-v5", fire_on_reset=True, sticky_actions=0.0)).reset(seed=2)
    ale = emulator("breakout", 2)
    ale.act(Action.FIRE)
    assert np.array_equal(observation, ale.getScreenRGB())
    freeway = make(atari("ALE/Freeway-v5", fire_on_reset=True, sticky_actions=0.0))
    freeway.reset(seed=2)
    assert freeway.unwrapped.ale.getEpisodeFrameNumber() == 0


def test_clipped_rewards_are_the_sign_of_the_sum(atari: Any, random_actions: Any) -> None:
    plain, clipped = make(atari("ALE/MsPacman-v5")), make(atari("ALE/MsPacman-v5", clip_rewards=True))
    plain.reset(seed=0)
    clipped.reset(seed=0)
    pairs = [(plain.step(a)[1], clipped.step(a)[1]) for a, _ in zip(random_actions(9, 0), range(100), strict=False)]
    assert {reward for reward, _ in pairs} >= {0.0, 10.0}
    assert all(shown == np.sign(reward) for reward, shown in pairs)


def test_the_full_action_space_has_18_actions_in_the_emulator_s_order(atari: Any, emulator: Any) -> None:
    env = make(atari("ALE/Breakout-v5", full_action_space=True, sticky_actions=0.0))
    assert env.action_space.n == 18
    ale = emulator("breakout", 0)
    env.reset(seed=0)
    for action in (1, 4, 4, 11, 3):
        observation, *_ = env.step(action)
        for _ in range(4):
            ale.act(Action(action))
    assert np.array_equal(observation, ale.getScreenRGB())


def test_frames_are_stacked_oldest_first_after_zeros(atari: Any) -> None:
    fields: dict[str, Any] = {"image_size": (20, 20), "observation": "gray", "sticky_actions": 0.0}
    env, flat = make(atari("ALE/Pong-v5", frame_stack=3, **fields)), make(atari("ALE/Pong-v5", **fields))
    stacked, _ = env.reset(seed=0)
    frames = [flat.reset(seed=0)[0]]
    assert env.observation_space.shape == (3, 20, 20, 1)
    assert not stacked[:2].any()
    for action in (2, 2, 3):
        stacked, *_ = env.step(action)
        frames.append(flat.step(action)[0])
        assert np.array_equal(stacked[-2:], frames[-2:])
    assert np.array_equal(stacked, frames[-3:])


def test_a_lost_life_ends_an_episode_and_the_game_goes_on(atari: Any, random_actions: Any) -> None:
    env = make(atari("ALE/Breakout-v5", "diamond-train", noop_max=0, image_size=(8, 8)))
    _, info = env.reset(seed=0)
    lives, frames = [info["lives"]], [info["frames"]]
    for action in random_actions(4, 0):
        _, _, terminated, truncated, info = env.step(action)
        assert not truncated
        if terminated:
            lives.append(info["lives"])
            frames.append(info["frames"])
            _, begun = env.reset(seed=123)
            if info["lives"] == 0:
                break
            assert begun == {"lives": info["lives"], "frames": info["frames"] + 4}
    assert lives == [5, 4, 3, 2, 1, 0]
    assert frames == sorted(frames)
    assert begun == {"lives": 5, "frames": 0}


def test_the_reset_after_a_lost_life_is_one_no_op_step_of_the_agent(
    atari: Any, emulator: Any, random_actions: Any
) -> None:
    env = make(atari("ALE/Breakout-v5", sticky_actions=0.0, life_loss_ends_episode=True))
    ale = emulator("breakout", 0)
    env.reset(seed=0)
    for action in random_actions(4, 0):
        _, _, terminated, _, _ = env.step(action)
        for _ in range(4):
            ale.act(ale.getMinimalActionSet()[action])
        if terminated:
            break
    observation, _ = env.reset(seed=99)
    for _ in range(4):
        ale.act(Action.NOOP)
    assert np.array_equal(observation, ale.getScreenRGB())


def test_a_game_whose_time_is_up_begins_anew_though_lives_are_left(atari: Any) -> None:
    env = make(atari("ALE/Breakout-v5", life_loss_ends_episode=True, max_frames=20))
    env.reset(seed=0)
    while not env.step(0)[3]:
        pass
    assert env.reset(seed=0)[1] == {"lives": 5, "frames": 0}


def test_the_time_limit_runs_through_all_lives(atari: Any, random_actions: Any) -> None:
    env = make(atari("ALE/Breakout-v5", "iris-train", noop_max=0, max_frames=300, image_size=(8, 8)))
    env.reset(seed=0)
    ends = []
    for action in random_actions(4, 0):
        _, _, terminated, truncated, info = env.step(action)
        if terminated:
            ends.append("life")
            env.reset(seed=0)
        if truncated:
            ends.append("time")
            break
    assert ends[0] == "life"
    assert ends[-1] == "time"
    assert info["frames"] == 300


@pytest.mark.parametrize("sticky", [0.0, 0.25])
@pytest.mark.parametrize("game", ["Freeway", "Krull"])
def test_an_episode_does_not_depend_on_the_one_before(
    game: str, sticky: float, atari: Any, random_actions: Any
) -> None:
    spec = atari(f"ALE/{game}-v5", image_size=(20, 20), frame_skip=1, sticky_actions=sticky)

    def episode(env: Any) -> Any:
        begun, _ = env.reset(seed=7)
        actions = random_actions(int(env.action_space.n), 0)
        return np.array([begun, *(env.step(next(actions))[0] for _ in range(80))])

    played = make(spec)
    episode(played)
    assert np.array_equal(episode(played), episode(make(spec)))


def test_a_mode_changes_the_game(atari: Any) -> None:
    plain, other = (make(atari("ALE/SpaceInvaders-v5", options=o)) for o in ({}, {"mode": 9, "difficulty": 1}))
    assert not np.array_equal(plain.reset(seed=0)[0], other.reset(seed=0)[0])


def test_resets_without_a_seed_follow_from_the_last_seed(atari: Any) -> None:
    def third(env: Any) -> Any:
        env.reset(seed=4)
        env.reset()
        env.reset()
        return env.unwrapped.ale.getEpisodeFrameNumber()

    spec = atari("ALE/Pong-v5", noop_max=30)
    assert third(make(spec)) == third(make(spec))


def test_render_is_the_screen_in_full_size(atari: Any) -> None:
    env = AtariGame(atari("ALE/Pong-v5", "dreamerv2"))
    with pytest.raises(RuntimeError, match="reset"):
        env.render()
    env.reset(seed=0)
    assert env.render().shape == (210, 160, 3)


@pytest.mark.parametrize("action", [-1, 6])
def test_an_action_outside_the_space_raises(action: int, atari: Any) -> None:
    env = make(atari("ALE/Pong-v5"))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {action}"):
        env.step(action)
