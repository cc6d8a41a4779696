from __future__ import annotations

import logging
from typing import Any

import pytest

from wm_core.errors import UsageError
from wm_env_minecraft import actions
from wm_env_minecraft.actions import DEFAULT_ACTION_SET, checked, translated

PRESSED = {"kind": "Discrete", "n": 2}
CAMERA = {"kind": "Box", "shape": [2], "dtype": "<f4", "low": -180.0, "high": 180.0}
TREECHOP = {
    "kind": "Dict",
    "spaces": dict.fromkeys(["attack", "back", "forward", "jump", "left", "right", "sneak", "sprint"], PRESSED)
    | {"camera": CAMERA},
}
OBTAIN = {
    "kind": "Dict",
    "spaces": TREECHOP["spaces"] | {"craft": {"kind": "Enum", "values": ["crafting_table", "none", "planks"]}},  # type: ignore[operator]
}
MINEDOJO = {"kind": "MultiDiscrete", "nvec": [3, 3, 4, 25, 25, 8, 244, 36]}
NAMES = list(DEFAULT_ACTION_SET)


@pytest.fixture(autouse=True)
def _nothing_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "_announced", set())


def test_there_are_thirteen_actions_of_these_names() -> None:
    assert NAMES == [
        "noop",
        "forward",
        "back",
        "left",
        "right",
        "jump",
        "forward_jump",
        "attack",
        "use",
        "camera_left",
        "camera_right",
        "camera_up",
        "camera_down",
    ]


def test_actions_of_minerl_set_their_keys_and_leave_the_others_at_rest() -> None:
    table = dict(zip(NAMES, translated(DEFAULT_ACTION_SET, OBTAIN, "t"), strict=True))
    rest = dict.fromkeys(["attack", "back", "forward", "jump", "left", "right", "sneak", "sprint"], 0)
    assert table["noop"] == rest | {"camera": [0.0, 0.0], "craft": "none"}
    assert table["forward_jump"] == rest | {"forward": 1, "jump": 1, "camera": [0.0, 0.0], "craft": "none"}
    assert table["camera_left"]["camera"] == [0.0, -15.0]
    assert table["camera_up"]["camera"] == [-15.0, 0.0]


def test_actions_of_minedojo_are_its_eight_integers() -> None:
    table = dict(zip(NAMES, translated(DEFAULT_ACTION_SET, MINEDOJO, "t"), strict=True))
    assert table == {
        "noop": [0, 0, 0, 12, 12, 0, 0, 0],
        "forward": [1, 0, 0, 12, 12, 0, 0, 0],
        "back": [2, 0, 0, 12, 12, 0, 0, 0],
        "left": [0, 1, 0, 12, 12, 0, 0, 0],
        "right": [0, 2, 0, 12, 12, 0, 0, 0],
        "jump": [0, 0, 1, 12, 12, 0, 0, 0],
        "forward_jump": [1, 0, 1, 12, 12, 0, 0, 0],
        "attack": [0, 0, 0, 12, 12, 3, 0, 0],
        "use": [0, 0, 0, 12, 12, 1, 0, 0],
        "camera_left": [0, 0, 0, 12, 11, 0, 0, 0],
        "camera_right": [0, 0, 0, 12, 13, 0, 0, 0],
        "camera_up": [0, 0, 0, 11, 12, 0, 0, 0],
        "camera_down": [0, 0, 0, 13, 12, 0, 0, 0],
    }


def test_an_action_that_the_task_lacks_does_nothing_and_is_announced_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="wmbench"):
        first, second = (translated(DEFAULT_ACTION_SET, TREECHOP, "MineRLTreechop-v0") for _ in range(2))
    assert first == second
    assert first[NAMES.index("use")] == first[NAMES.index("noop")]
    assert [record.getMessage() for record in caplog.records] == [
        "MineRLTreechop-v0 has no such action: use; they do nothing there"
    ]


@pytest.mark.parametrize(
    ("keys", "space"),
    [
        ({"craft": "torch"}, OBTAIN),
        ({"craft": "planks"}, TREECHOP),
        ({"craft": "planks"}, MINEDOJO),
        ({"forward": 1, "use": 1}, TREECHOP),
        ({"attack": 1, "use": 1}, MINEDOJO),
    ],
)
def test_what_cannot_be_done_whole_is_not_done_by_halves(keys: dict[str, Any], space: dict[str, Any]) -> None:
    rest, action = translated({"noop": {}, "mine": keys}, space, "t")
    assert action == rest


def test_an_action_set_of_ones_own_may_name_items() -> None:
    _, action = translated(checked({"noop": {}, "saw": {"craft": "planks"}}), OBTAIN, "t")
    assert action["craft"] == "planks"


@pytest.mark.parametrize(
    ("action_set", "message"),
    [
        ({}, "expected"),
        ([["forward"]], "expected"),
        ({"go": "forward"}, "expected"),
        ({"go": {"foward": 1}}, "did you mean forward"),
        ({"go": {"forward": 2}}, "expected 1 for pressed"),
        ({"look": {"camera": [0, 181]}}, "from -180 to 180"),
        ({"look": {"camera": 15}}, "from -180 to 180"),
        ({"make": {"craft": 3}}, "an item's name"),
    ],
)
def test_an_action_set_that_cannot_be_meant_is_refused(action_set: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        checked(action_set)


def test_a_space_without_keys_is_refused() -> None:
    with pytest.raises(UsageError, match="VectorObf"):
        translated(DEFAULT_ACTION_SET, {"kind": "Dict", "spaces": {"vector": CAMERA}}, "MineRLTreechopVectorObf-v0")
