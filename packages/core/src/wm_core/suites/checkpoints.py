"""A directory of checkpoints, one a game or one a seed of a game.

    DIR/<game>.*               one checkpoint for all seeds of the game; a directory <game> counts too
    DIR/<game>/seed-<n>.*      a checkpoint for each seed: each seed is a training run

`<game>` is the id with `_` for `/` (`ALE_Pong-v5`), the id after its last `/` (`Pong-v5`) where no other id ends in
the same, or the suite's name of a group of one game (`Pong`). Names that begin with a dot are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from wm_core.errors import UsageError
from wm_core.specs import Suite

_SEED = re.compile(r"seed-(\d+)(?:\..*)?")


@dataclass(frozen=True)
class FoundCheckpoints:
    """What lies in the directory, by game id."""

    shared: dict[str, Path] = field(default_factory=dict)
    own: dict[str, dict[int, Path]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    """Names that belong to no game of the suite: a slip of the pen, perhaps."""


def find_checkpoints(directory: Path, suite: Suite) -> FoundCheckpoints:
    """Match the directory's entries with the games of the suite.

    Raises `UsageError` where there is no such directory, none of its entries is a game's, or two claim one game.
    """
    if not directory.is_dir():
        raise UsageError(f"no directory of checkpoints at {directory}; expected e.g. {directory}/{_example(suite)}.pt")
    games = {name: game for game in suite.ids() for name in names_of(game, suite)}
    found = FoundCheckpoints()
    for entry in sorted(directory.iterdir()):
        if entry.name.startswith("."):
            continue
        game = games.get(entry.name) or games.get(_stem(entry.name, games))
        if game is None:
            found.unused.append(entry.name)
            continue
        claimed = found.shared.get(game) or (next(iter(found.own[game].values())) if game in found.own else None)
        if claimed is not None:
            raise UsageError(f"{claimed} and {entry} are both checkpoints of {game}; leave one of the two there")
        seeds = _seeds(entry)
        if seeds:
            found.own[game] = seeds
        else:
            found.shared[game] = entry
    if not found.shared and not found.own:
        raise UsageError(
            f"{directory} has no checkpoint of a game of {suite.name}; expected e.g. {_example(suite)}.pt, or "
            f"{_example(suite)}/seed-0.pt for a checkpoint a seed"
        )
    return found


def names_of(game: str, suite: Suite) -> list[str]:
    """The names under which a game's checkpoint may lie."""
    ends = Counter(_end(other) for other in suite.ids())
    names = [game.replace("/", "_")]
    if ends[_end(game)] == 1:
        names.append(_end(game))
    return [*names, *(group for group, ids in suite.games.items() if ids == (game,))]


def _end(game: str) -> str:
    return game.rpartition("/")[2]


def _stem(name: str, games: dict[str, str]) -> str:
    """The longest part before a dot that names a game; the name itself where none does."""
    parts = name.split(".")
    stems = (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next((stem for stem in stems if stem in games), name)


def _seeds(entry: Path) -> dict[int, Path]:
    if not entry.is_dir():
        return {}
    seeds: dict[int, Path] = {}
    for path in sorted(entry.iterdir()):
        matched = _SEED.fullmatch(path.name)
        if matched is None:
            continue
        seed = int(matched[1])
        if seed in seeds:
            raise UsageError(
                f"{seeds[seed]} and {path} are both checkpoints of seed {seed}; leave one of the two there"
            )
        seeds[seed] = path
    return seeds


def _example(suite: Suite) -> str:
    return names_of(suite.ids()[0], suite)[-1]
