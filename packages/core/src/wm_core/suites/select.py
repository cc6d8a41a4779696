"""A part of a suite: `--only catch,deep_sea`, `--only Pong,Breakout`, `--only 'bandit/*'`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from wm_core.errors import UsageError
from wm_core.specs import Suite


def select(suite: Suite, only: Sequence[str]) -> Suite:
    """The suite with the groups and ids that `only` names, or that its globs match, in the suite's own order.

    A text of `only` is one name or several with commas between. Raises `UsageError` for a name that is neither a group
    nor an id of the suite, and for a text without a name: it would mean the whole suite by accident.
    """
    if not only:
        return suite
    chosen: set[str] = set()
    for name in _names(only):
        found = _matching(suite, name)
        if not found:
            near = difflib.get_close_matches(name, [*suite.games, *suite.ids()], n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"groups: {', '.join(suite.games)}"
            raise UsageError(f"--only '{name}' is neither a group nor an id of {suite.name}; {hint}")
        chosen |= found
    games = {group: tuple(game for game in ids if game in chosen) for group, ids in suite.games.items()}
    return suite.model_copy(update={"games": {group: ids for group, ids in games.items() if ids}})


def _names(only: Sequence[str]) -> list[str]:
    names: list[str] = []
    for text in only:
        found = [name.strip() for name in text.split(",") if name.strip()]
        if not found:
            raise UsageError(f"--only '{text}' names nothing; leave it out for the whole suite")
        names += found
    return names


def _matching(suite: Suite, name: str) -> set[str]:
    by_group = {game for group, ids in suite.games.items() if fnmatchcase(group, name) for game in ids}
    return by_group | {game for game in suite.ids() if fnmatchcase(game, name)}
