"""What is refused of a Gymnasium id before anything is made: its module, its options, absurd sizes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from wm_core.envs.gymnasium_backend import GymnasiumBackend
from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError

BACKEND = GymnasiumBackend()


class Sized(gymnasium.Env[Any, Any]):
    """Takes two options. Nothing may make it in these tests."""

    observation_space: Any = Box(0, 1, (2_000_000,), np.float64)
    action_space: Any = Discrete(2)
    made = 0

    def __init__(self, size: int = 1, *, colour: str = "red", render_mode: str | None = None) -> None:
        type(self).made += 1


class TakesAnything(Sized):
    def __init__(self, **options: Any) -> None:
        super().__init__()


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    ids = {"wmtest/Sized-v0": Sized, "wmtest/TakesAnything-v0": TakesAnything, "wmtest/Exits-v0": "wmtest_exits:Env"}
    for id_, entry_point in ids.items():
        gymnasium.register(id_, entry_point=entry_point, disable_env_checker=True)
    Sized.made = TakesAnything.made = 0
    yield
    for id_ in ids:
        del gymnasium.registry[id_]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`module(name, text)`: a module that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("def (", "SyntaxError: "),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("import no_such_dependency", "No module named 'no_such_dependency'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_the_cause(module: Any, text: str, cause: str) -> None:
    module("wmtest_broken", text)
    with pytest.raises(UsageError) as error:
        resolve_env("wmtest_broken:x-v0", backend="gymnasium")
    assert "needs the module 'wmtest_broken'" in str(error.value)
    assert cause in str(error.value)
    assert "\n" not in str(error.value)


def test_a_relative_module_is_refused() -> None:
    with pytest.raises(UsageError, match=r"needs the module '\.x', which cannot be imported: TypeError"):
        BACKEND.resolve(".x:y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"colur": "red"},
            r"wmtest/Sized-v0 refuses the options \{'colur': 'red'\}: it knows no 'colur', but size, colour",
        ),
        ({"size": 2, "length": 1}, "it knows no 'length', but size, colour"),
        ({"render_mode": "human"}, "refuses the option 'render_mode', which is set by wmbench; set observation=rgb"),
        ({"max_episode_steps": 3}, "refuses the option 'max_episode_steps'.*set max_frames"),
    ],
)
def test_options_that_nobody_takes_are_refused_without_making_anything(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_env("wmtest/Sized-v0", overrides={"options": options})
    assert Sized.made == 0


def test_options_that_the_constructor_takes_are_accepted() -> None:
    options = {"size": 2, "colour": "blue"}
    assert resolve_env("wmtest/Sized-v0", overrides={"options": options}).options == options


def test_a_constructor_that_takes_anything_is_left_to_judge_for_itself() -> None:
    assert resolve_env("wmtest/TakesAnything-v0", overrides={"options": {"x": 1}}).options == {"x": 1}
    with pytest.raises(UsageError, match="render_mode"):
        resolve_env("wmtest/TakesAnything-v0", overrides={"options": {"render_mode": "human"}})


def test_an_entry_point_that_exits_when_its_options_are_checked_is_named(module: Any) -> None:
    module("wmtest_exits", "raise SystemExit(4)")
    with pytest.raises(UsageError, match="wmtest/Exits-v0 cannot be loaded: SystemExit: 4"):
        resolve_env("wmtest/Exits-v0", overrides={"options": {"x": 1}})


@pytest.mark.parametrize(
    ("game", "fields", "message"),
    [
        ("CartPole-v1", {"frame_stack": 1_000_000_000}, "frame_stack is 1000000000; expected at most 1024"),
        ("CartPole-v1", {"observation": "rgb", "image_size": (100_000, 100_000)}, "would take 30 GB"),
        ("CartPole-v1", {"observation": "rgb", "image_size": (1000, 1000), "frame_stack": 500}, "would take 1.5 GB"),
        ("wm/Catch-v0", {"image_size": (100_000, 100_000)}, "one observation of wm/Catch-v0 would take 30 GB"),
        ("ALE/Pong-v5", {"frame_stack": 5000}, "frame_stack is 5000; expected at most 1024"),
        ("ALE/Pong-v5", {"image_size": (2**40, 2**40)}, "expected at most 1 GB"),
    ],
)
def test_absurd_sizes_are_refused(game: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_env(game, overrides=fields)


def test_a_stack_of_large_observations_is_refused_before_it_is_built() -> None:
    spec = BACKEND.resolve("wmtest/Sized-v0").model_copy(update={"frame_stack": 100})
    with pytest.raises(UsageError, match=r"one observation of wmtest/Sized-v0 would take 1\.6 GB"):
        BACKEND.make(spec)
