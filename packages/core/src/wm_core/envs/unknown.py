"""Game ids that nobody serves: the nearest ones, and what would have to be installed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import chain

from wm_core.errors import UsageError

_BSUITE = (
    "bandit bandit_noise bandit_scale cartpole cartpole_noise cartpole_scale cartpole_swingup catch catch_noise "
    "catch_scale deep_sea deep_sea_stochastic discounting_chain memory_len memory_size mnist mnist_noise "
    "mnist_scale mountain_car mountain_car_noise mountain_car_scale umbrella_distract umbrella_length"
)

KNOWN_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "wm-env-bsuite": ("bsuite/*", *(f"{experiment}/*" for experiment in _BSUITE.split())),
    "wm-env-minecraft": ("MineRL*", "minerl/*", "minedojo/*", "crafter/*"),
}
"""Distribution -> globs of the ids it would serve."""

_NUMBER = re.compile(r"(?:-v|/)(\d+)$")
"""A version, `-v5`, or one of many settings of a game, `/3`."""


class UnknownGame(UsageError):
    """No such game id. The message names the nearest ids."""


def distribution_of(game: str) -> str | None:
    """The distribution of ours that serves an id, installed or not."""
    for distribution, patterns in KNOWN_ELSEWHERE.items():
        if any(fnmatchcase(game, pattern) for pattern in patterns):
            return distribution
    return None


def nearest(game: str, ids: Iterable[str], n: int = 3) -> list[str]:
    """Up to `n` ids that `game` may have meant: those of the nearest names, its own number and then high ones first.

    Names are compared without namespace, version and number: `Pong` for `ALE/Pong-v5`, `catch` for `catch/3`. A game of
    many settings comes after the versions of a game, unless a setting was asked for, and takes one place of the `n`
    before others have theirs.
    """
    by_name: dict[str, list[str]] = {}
    for known in dict.fromkeys(ids):
        by_name.setdefault(_name(known), []).append(known)
    name = _name(game)
    names = [name] if name in by_name else difflib.get_close_matches(name, by_name, n, 0.75)
    if not names:
        names = sorted((known for known in by_name if len(known) > 3 and name.startswith(known)), key=len)[-1:]

    def distance(known: str) -> tuple[bool, bool, int]:
        return _is_setting(known) != _is_setting(game), _number(known) != _number(game), -_number(known)

    alike = list(chain.from_iterable(sorted(by_name[known], key=distance) for known in names))
    first = {_NUMBER.sub("", known): known for known in reversed(alike)}
    return sorted(alike, key=lambda known: first[_NUMBER.sub("", known)] != known)[:n]


def _is_setting(game: str) -> bool:
    match = _NUMBER.search(game)
    return match is not None and match[0].startswith("/")


def _name(game: str) -> str:
    return _NUMBER.sub("", game).rpartition("/")[2].rpartition(":")[2].lower()


def _number(game: str) -> int:
    match = _NUMBER.search(game)
    return int(match[1]) if match else -1
