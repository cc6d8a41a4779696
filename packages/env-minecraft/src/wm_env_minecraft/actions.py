"""Thirteen discrete actions over a game's own action space."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any

from wm_core.errors import UsageError

_log = logging.getLogger("wmbench")

CAMERA_DEGREES = 15.0
"""A turn of the head; also the width of MineDojo's own camera bins."""

ActionSet = Mapping[str, Mapping[str, Any]]
"""Name -> values of the game's keys; keys not named are at rest. `camera` is (pitch, yaw) in degrees."""

DEFAULT_ACTION_SET: dict[str, dict[str, Any]] = {
    "noop": {},
    "forward": {"forward": 1},
    "back": {"back": 1},
    "left": {"left": 1},
    "right": {"right": 1},
    "jump": {"jump": 1},
    "forward_jump": {"forward": 1, "jump": 1},
    "attack": {"attack": 1},
    "use": {"use": 1},
    "camera_left": {"camera": [0.0, -CAMERA_DEGREES]},
    "camera_right": {"camera": [0.0, CAMERA_DEGREES]},
    "camera_up": {"camera": [-CAMERA_DEGREES, 0.0]},
    "camera_down": {"camera": [CAMERA_DEGREES, 0.0]},
}

_PRESSED = [
    "ESC",
    "attack",
    "back",
    "drop",
    "forward",
    "inventory",
    "jump",
    "left",
    "pickItem",
    "right",
    "sneak",
    "sprint",
    "swapHands",
    "use",
    "hotbar.1",
    "hotbar.2",
    "hotbar.3",
    "hotbar.4",
    "hotbar.5",
    "hotbar.6",
    "hotbar.7",
    "hotbar.8",
    "hotbar.9",
]
_NAMED = ["craft", "craft_with_table", "equip", "nearbyCraft", "nearbySmelt", "place", "smelt"]
KEYS = (*_PRESSED, "camera", *_NAMED)
"""Every key of MineRL 0.4, MineRL 1.0 and MineDojo 0.1."""

_MINEDOJO_SLOTS: dict[tuple[str, int], tuple[int, int]] = {
    ("forward", 1): (0, 1),
    ("back", 1): (0, 2),
    ("left", 1): (1, 1),
    ("right", 1): (1, 2),
    ("jump", 1): (2, 1),
    ("sneak", 1): (2, 2),
    ("sprint", 1): (2, 3),
    ("use", 1): (5, 1),
    ("drop", 1): (5, 2),
    ("attack", 1): (5, 3),
}
"""Key and value -> place and value in MineDojo's MultiDiscrete actions; places 3 and 4 are the camera."""


def checked(action_set: Any) -> dict[str, dict[str, Any]]:
    """A user's action set, or `UsageError` where a name of a key or a value cannot be meant."""
    expected = 'expected {"name": {"key": value, ...}, ...}, e.g. {"noop": {}, "chop": {"attack": 1}}'
    if not isinstance(action_set, Mapping) or not action_set:
        raise UsageError(f"action_set is {str(action_set)[:60]!r}; {expected}")
    for name, keys in action_set.items():
        if not isinstance(keys, Mapping):
            raise UsageError(f"action_set['{name}'] is {str(keys)[:60]!r}; {expected}")
        for key, value in keys.items():
            _check_value(name, key, value)
    return {str(name): dict(keys) for name, keys in action_set.items()}


def translated(action_set: ActionSet, space: Mapping[str, Any], task: str) -> list[Any]:
    """The game's own action for each of the set, as plain data. Those that the task lacks are at rest, and named once.

    `space` is the action space as the game's interpreter describes it: a dict of keys, or MineDojo's eight integers.
    """
    if space["kind"] == "Dict" and set(space["spaces"]) & set(KEYS):
        rest = {key: _at_rest(inner) for key, inner in space["spaces"].items()}
        pressed = {name: _keys_of_dict(keys, space["spaces"]) for name, keys in action_set.items()}
        actions: list[Any] = [rest | (keys or {}) for keys in pressed.values()]
        lacking = [name for name, keys in pressed.items() if keys is None]
    elif space["kind"] == "MultiDiscrete" and len(space["nvec"]) == 8:
        placed = {name: _places_of_minedojo(keys, space["nvec"]) for name, keys in action_set.items()}
        middle = [(bins - 1) // 2 for bins in space["nvec"][3:5]]
        still = dict(enumerate([0, 0, 0, *middle, 0, 0, 0]))
        actions = [list((still | (places or {})).values()) for places in placed.values()]
        lacking = [name for name, places in placed.items() if places is None]
    else:
        raise UsageError(
            f"{task} takes actions of kind {space['kind']}, to which keys cannot be translated; "
            "choose a task with named keys (not one of the obfuscated 'VectorObf' tasks)"
        )
    if lacking:
        _announce(task, tuple(lacking))
    return actions


_announced: set[tuple[str, tuple[str, ...]]] = set()


def _announce(task: str, lacking: tuple[str, ...]) -> None:
    if (task, lacking) not in _announced:
        _announced.add((task, lacking))
        _log.warning("%s has no such action: %s; they do nothing there", task, ", ".join(lacking))


def _keys_of_dict(keys: Mapping[str, Any], spaces: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values of the keys, or None where the task lacks a key or a value."""
    for key, value in keys.items():
        if key not in spaces or (spaces[key]["kind"] == "Enum" and value not in spaces[key]["values"]):
            return None
    return dict(keys)


def _places_of_minedojo(keys: Mapping[str, Any], nvec: list[int]) -> dict[int, int] | None:
    """The places to set, or None where MineDojo's integers cannot say it, or only one of two keys at a time."""
    places: dict[int, int] = {}
    for key, value in keys.items():
        if key == "camera":
            places |= {3 + axis: _camera_bin(angle, nvec[3 + axis]) for axis, angle in enumerate(value)}
        elif value == 0:
            continue
        elif (key, value) not in _MINEDOJO_SLOTS or _MINEDOJO_SLOTS[key, value][0] in places:
            return None
        else:
            place, number = _MINEDOJO_SLOTS[key, value]
            places[place] = number
    return places


def _camera_bin(angle: float, bins: int) -> int:
    """MineDojo's bins divide -180 to 180 degrees evenly, both ends included."""
    return round((angle + 180.0) / (360.0 / (bins - 1)))


def _at_rest(space: Mapping[str, Any]) -> Any:
    kind = space["kind"]
    if kind == "Enum":
        return "none" if "none" in space["values"] else space["values"][0]
    if kind == "Box":
        return [0.0] * space["shape"][0] if space["shape"] else 0.0
    return 0


def _check_value(name: str, key: Any, value: Any) -> None:
    where = f"action_set['{name}']['{key}']"
    if key not in KEYS:
        near = difflib.get_close_matches(str(key), KEYS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"keys are {', '.join(KEYS)}"
        raise UsageError(f"{where}: Minecraft has no such key; {hint}")
    if key == "camera":
        if (
            not isinstance(value, list | tuple)
            or len(value) != 2
            or not all(isinstance(angle, int | float) and abs(angle) <= 180 for angle in value)
        ):
            raise UsageError(f"{where} is {value!r}; expected [pitch, yaw] in degrees, each from -180 to 180")
    elif key in _PRESSED and value not in (0, 1):
        raise UsageError(f"{where} is {value!r}; expected 1 for pressed, or 0")
    elif key in _NAMED and not isinstance(value, str):
        raise UsageError(f"{where} is {value!r}; expected an item's name, e.g. 'planks'")
