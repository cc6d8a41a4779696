"""Any Gymnasium environment, as it is or as an `EnvSpec` asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import cv2
import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.spaces import Box, Dict, Discrete

from wm_core.envs.gymnasium_backend import GymnasiumBackend
from wm_core.envs.unknown import UnknownGame
from wm_core.errors import UsageError

BACKEND = GymnasiumBackend()


class Count(gymnasium.Env[Any, Any]):
    """Observes its step number, is rewarded with it, and ends after `length` steps. Rendered, it is a picture."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space: Any = Box(0, 255, (2,), np.float32)
    action_space: Any = Discrete(2)

    def __init__(self, length: int = 100, render_mode: str | None = None) -> None:
        self.length, self.render_mode, self.count = length, render_mode, 0

    def observe(self) -> Any:
        return np.full(2, self.count, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.observe(), {"note": "begun"}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        return self.observe(), float(self.count), self.count >= self.length, False, {"note": "stepped"}

    def render(self) -> Any:
        frame = np.zeros((12, 8, 3), np.uint8)
        frame[:, :, 0], frame[0, 0] = self.count, 255
        return frame


class Picture(Count):
    """Observes a picture."""

    observation_space = Box(0, 255, (12, 8, 3), np.uint8)

    def observe(self) -> Any:
        return Count.render(self)

    def render(self) -> Any:
        raise AssertionError("a picture needs no rendering")


class GrayPicture(Picture):
    observation_space = Box(0, 255, (12, 8), np.uint8)

    def observe(self) -> Any:
        return Count.render(self)[:, :, 0]


class Nested(Count):
    observation_space = Dict(count=Box(0, 255, (), np.float32))

    def observe(self) -> Any:
        return {"count": np.float32(self.count)}


class NeedsPygame(Count):
    def render(self) -> Any:
        raise DependencyNotInstalled('pygame is not installed, run `pip install "gymnasium[classic-control]"`')


class Blind(Count):
    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()

    def render(self) -> Any:
        return None


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    classes = (Count, Picture, GrayPicture, Nested, NeedsPygame, Blind)
    ids = [f"wmtest/{cls.__name__}-v0" for cls in classes]
    for id_, cls in zip(ids, classes, strict=True):
        gymnasium.register(id_, entry_point=cls, max_episode_steps=50, disable_env_checker=True)
    yield
    for id_ in ids:
        del gymnasium.registry[id_]


def make(name: str, **fields: Any) -> Any:
    spec = BACKEND.resolve(f"wmtest/{name}-v0")
    return BACKEND.make(spec.model_copy(update=fields))


def test_an_id_resolves_to_itself_with_its_time_limit_spelled_out() -> None:
    spec = BACKEND.resolve("CartPole-v1")
    assert (spec.id, spec.backend, spec.observation, spec.max_frames) == ("CartPole-v1", "gymnasium", "native", 500)


def test_native_observations_rewards_and_infos_are_left_as_they_are() -> None:
    env = make("Count")
    observation, info = env.reset(seed=0)
    assert (observation.tolist(), info) == ([0, 0], {"note": "begun", "frames": 0})
    observation, reward, terminated, truncated, info = env.step(1)
    assert (observation.tolist(), reward, terminated, truncated) == ([1, 1], 1.0, False, False)
    assert info == {"note": "stepped", "frames": 1}
    assert make("Nested").reset(seed=0)[0] == {"count": 0}


def test_cartpole_plays_as_gymnasium_plays_it() -> None:
    ours, theirs = BACKEND.make(BACKEND.resolve("CartPole-v1")), gymnasium.make("CartPole-v1")
    assert np.array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for _ in range(20):
        a, b = ours.step(0), theirs.step(0)
        assert np.array_equal(a[0], b[0])
        assert a[1:4] == b[1:4]
        if b[2]:
            break


def test_the_registered_time_limit_truncates() -> None:
    env = make("Count")
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]


def test_another_time_limit_takes_its_place_and_none_removes_it() -> None:
    env = make("Count", max_frames=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    env = make("Count", max_frames=None)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(100)]
    assert ends == [(False, False)] * 99 + [(True, False)]


def test_an_end_at_the_time_limit_is_a_termination_alone() -> None:
    env = make("Count", max_frames=4, options={"length": 4})
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(4)][-1] == (True, False)


def test_frame_skip_sums_rewards_and_stops_at_the_end() -> None:
    env = make("Count", frame_skip=3, options={"length": 5})
    env.reset(seed=0)
    assert env.step(0)[1:] == (6.0, False, False, {"note": "stepped", "frames": 3})
    assert env.step(0)[1:] == (9.0, True, False, {"note": "stepped", "frames": 5})


def test_a_random_frame_skip_is_uniform_and_seeded() -> None:
    env = make("Count", frame_skip=(2, 5))

    def skips() -> Any:
        env.reset(seed=1)
        return np.diff([0, *(env.step(0)[4]["frames"] for _ in range(12))]).tolist()

    assert set(skips()) == {2, 3, 4}
    assert skips() == skips()


def test_clipped_rewards_are_signs() -> None:
    env = make("Count", clip_rewards=True, frame_skip=3)
    env.reset(seed=0)
    assert env.step(0)[1] == 1.0


@pytest.mark.parametrize(("observation", "channels"), [("rgb", 3), ("gray", 1)])
def test_what_is_no_picture_is_rendered(observation: str, channels: int) -> None:
    env = make("Count", observation=observation, image_size=(6, 4))
    env.reset(seed=0)
    shown, *_ = env.step(0)
    frame = np.zeros((12, 8, 3), np.uint8)
    frame[:, :, 0], frame[0, 0] = 1, 255
    if observation == "gray":
        frame = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    expected = cv2.resize(frame, (4, 6), interpolation=cv2.INTER_AREA).reshape(6, 4, channels)
    assert np.array_equal(shown, expected)
    assert env.observation_space == Box(0, 255, (6, 4, channels), np.uint8)


def test_a_picture_is_resized_and_not_rendered() -> None:
    assert make("Picture", image_size=(6, 4)).reset(seed=0)[0].shape == (6, 4, 3)
    assert make("Picture", observation="rgb").reset(seed=0)[0].shape == (12, 8, 3)
    assert make("Picture", observation="gray").reset(seed=0)[0].shape == (12, 8, 1)


def test_a_gray_picture_becomes_rgb_by_repetition() -> None:
    shown, _ = make("GrayPicture", observation="rgb").reset(seed=0)
    assert shown.shape == (12, 8, 3)
    assert (shown == shown[:, :, :1]).all()
    assert make("GrayPicture").reset(seed=0)[0].shape == (12, 8, 1)


def test_frames_are_stacked() -> None:
    env = make("Count", frame_stack=3)
    env.reset(seed=0)
    env.step(0)
    assert env.step(0)[0][:, 0].tolist() == [0, 1, 2]
    assert env.observation_space.shape == (3, 2)


def test_options_go_to_the_constructor() -> None:
    env = make("Count", options={"length": 2})
    env.reset(seed=0)
    assert [env.step(0)[2] for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("Count", {"sticky_actions": 0.25}, "sticky_actions=0.25 means nothing to the 'gymnasium'.*leave it at 0.0"),
        ("Count", {"noop_max": 3}, "noop_max=3"),
        ("Count", {"life_loss_ends_episode": True}, "life_loss_ends_episode=True"),
        ("Count", {"full_action_space": True}, "full_action_space=True"),
        ("Count", {"max_pool": "after_resize"}, "max_pool='after_resize'"),
        ("Count", {"fire_on_reset": True}, "fire_on_reset=True"),
        ("Count", {"image_size": (8, 8)}, "set observation=rgb"),
        ("Nested", {"frame_stack": 2}, "needs array observations"),
        ("Count", {"options": {"lenght": 3}}, "refuses the options.*lenght"),
        ("Blind", {"observation": "rgb"}, "renders no RGB frame.*set observation=native"),
        ("NeedsPygame", {"observation": "rgb"}, r'pip install "gymnasium\[classic-control\]"'),
    ],
)
def test_what_cannot_be_honoured_is_refused(name: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(name, **fields)


def test_an_environment_that_cannot_render_is_playable_without() -> None:
    assert make("Blind").reset(seed=0)[0].tolist() == [0, 0]
    assert make("NeedsPygame").reset(seed=0)[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("game", "module", "extra"), [("Ant-v5", "mujoco", "mujoco"), ("tabular/CliffWalking-v0", "jax", "jax")]
)
def test_a_missing_dependency_names_what_to_install(
    game: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for name in [n for n in sys.modules if n.startswith(("gymnasium.envs.mujoco", "gymnasium.envs.tabular"))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UsageError, match=rf'{game} needs.*pip install "gymnasium\[{extra}\]"'):
        BACKEND.make(BACKEND.resolve(game))


@pytest.mark.parametrize(
    ("game", "near"), [("cartpole-v1", "CartPole-v1"), ("CartPole-v7", "CartPole-v1"), ("Ant-v1", "Ant-v5")]
)
def test_an_unknown_id_names_the_nearest(game: str, near: str) -> None:
    with pytest.raises(UnknownGame) as error:
        BACKEND.resolve(game)
    assert near in f"{error.value} {error.value.__cause__}"


def test_a_module_in_the_id_is_imported_first() -> None:
    spec = BACKEND.resolve("ale_py:ALE/Pong-v5")
    assert BACKEND.make(spec).observation_space.shape == (210, 160, 3)
    with pytest.raises(UsageError, match="needs the module 'no_such_module'"):
        BACKEND.resolve("no_such_module:Game-v0")


def test_games_with_a_backend_of_their_own_are_not_listed() -> None:
    ids = BACKEND.ids()
    assert "CartPole-v1" in ids
    assert not [id_ for id_ in ids if id_.startswith(("ALE/", "wm/", "Pong"))]
