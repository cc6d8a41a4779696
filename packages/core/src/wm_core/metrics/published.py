"""Scores of other agents to compare with: per-game means from papers, and files of runs that a user has.

The packaged ones are in `published_scores.json`. Per-game means are facts of a paper; they have no spread, so no
interval can be computed from them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from wm_core.errors import UsageError
from wm_core.metrics.baselines import canonical_name
from wm_core.specs import Spec

FORMAT = "wmbench.scores/1"


class PublishedScores(Spec):
    """One agent's raw game scores: the runs of each game, or only their mean."""

    format: Literal["wmbench.scores/1"] = "wmbench.scores/1"
    name: str = Field(min_length=1, description="What `--baseline` takes")
    label: str = Field(min_length=1, description="What tables and figures show")
    paper: str = Field("", description="Where the agent is described")
    source: str = Field(description="Where the numbers are from")
    runs_each: int | None = Field(None, description="Training runs behind each mean, where the source says")
    rounding: str | None = Field(None, description="To what the source rounds")
    reference: bool = Field(False, description="Not an agent but what scores are read against: random, human")
    note: str = ""
    means: dict[str, FiniteFloat] = Field(default_factory=dict, description="Game -> mean score")
    runs: dict[str, tuple[FiniteFloat, ...]] = Field(default_factory=dict, description="Game -> a score a run")

    @model_validator(mode="after")
    def _means_or_runs(self) -> PublishedScores:
        if bool(self.means) == bool(self.runs):
            raise ValueError("expected either means or runs of at least one game")
        empty = [game for game, runs in self.runs.items() if not runs]
        if empty:
            raise ValueError(f"{empty[0]} has no runs; leave it out")
        return self

    @property
    def scores(self) -> dict[str, tuple[float, ...]]:
        """Game -> its runs, or its one mean."""
        return self.runs or {game: (mean,) for game, mean in self.means.items()}


@cache
def packaged() -> dict[str, PublishedScores]:
    """The published results that come with wmbench, by name, oldest agents first."""
    text = files("wm_core.metrics").joinpath("published_scores.json").read_text(encoding="utf-8")
    found = [PublishedScores.model_validate(values) for values in json.loads(text)["results"]]
    return {each.name: each for each in found}


def find_baseline(name_or_file: str) -> list[PublishedScores]:
    """A packaged result by name, or all that a JSON file holds.

    `FILE.json:NAME` takes one of several in a file. Raises `UsageError` for an unknown name, and what `read_scores`
    raises.
    """
    if name_or_file.lower() in packaged():
        return [packaged()[name_or_file.lower()]]
    path, _, one = name_or_file.partition(".json:")
    if one:
        found = {each.name: each for each in read_scores(Path(f"{path}.json"))}
        if one not in found:
            raise UsageError(f"{path}.json has no results called '{one}'; it has {', '.join(found)}")
        return [found[one]]
    if name_or_file.endswith(".json") or "/" in name_or_file:
        return read_scores(Path(name_or_file))
    near = difflib.get_close_matches(name_or_file.lower(), packaged(), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"no baseline '{name_or_file}'; {hint}expected a file of scores (.json), or one of {', '.join(packaged())}"
    )


def find_baselines(names: Sequence[str]) -> list[PublishedScores]:
    """All that `--baseline` names, commas between them; nothing twice."""
    found = [each for text in names for name in text.split(",") if name.strip() for each in find_baseline(name.strip())]
    return [each for place, each in enumerate(found) if each not in found[:place]]


def read_scores(path: Path, name: str | None = None) -> list[PublishedScores]:
    """Scores from a JSON file: what `wmbench baselines import` wrote, `{game: [run scores]}`, or those by agent.

    `name` is what results without one are called; the default is the file's name. Game ids may be `Pong`,
    `ALE/Pong-v5` and their like. Raises `UsageError` that names the file and the place for anything else.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}; expected a JSON file of scores") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON ({error}); expected {{game: [run scores]}}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply; expected {{game: [run scores]}}") from error
    if not isinstance(value, dict) or not value:
        raise UsageError(f"{path} holds {_kind(value)}; expected {{game: [run scores]}}")
    if value.get("format") == FORMAT:
        return [_own_format(path, value, name)]
    agents = value["runs"] if isinstance(value.get("runs"), dict) else value
    if not agents:
        raise UsageError(f"{path} has no results under 'runs'; expected {{game: [run scores]}}")
    if all(isinstance(inner, dict) for inner in agents.values()):
        if name is not None and len(agents) > 1:
            raise UsageError(f"{path} holds several agents ({', '.join(agents)}), which keep their names; drop --name")
        return [_of_runs(path, agent if name is None else name, games) for agent, games in agents.items()]
    return [_of_runs(path, path.stem if name is None else name, agents)]


def _own_format(path: Path, value: dict[str, Any], name: str | None) -> PublishedScores:
    try:
        return PublishedScores.model_validate({**value, **({"name": name, "label": name} if name else {})})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file as a whole"
        raise UsageError(f"{path} is no {FORMAT}: {where}: {first['msg']}; import it again") from error


def _of_runs(path: Path, name: str, games: dict[str, Any]) -> PublishedScores:
    if not name.strip() or not games:
        raise UsageError(f"{path}: results '{name}' have no {'games' if name.strip() else 'name'}; expected both")
    runs: dict[str, tuple[float, ...]] = {}
    for game, scores in games.items():
        if not isinstance(scores, list) or not scores or not all(_is_score(score) for score in scores):
            raise UsageError(
                f"{path}: '{game}' of {name} holds {_kind(scores)}; expected a list of finite numbers, a score a run"
            )
        key = canonical_name(game)
        if not key.strip():
            raise UsageError(f"{path}: {name} has a game without a name ('{game}'); expected one, like Pong")
        if key in runs:
            raise UsageError(f"{path}: {name} has {key} twice, the second time as '{game}'; keep one")
        runs[key] = tuple(float(score) for score in scores)
    return PublishedScores(name=name, label=name, source=f"{path.name}, as imported", runs=runs)


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e100


def _kind(value: Any) -> str:
    if isinstance(value, list):
        wrong = [each for each in value if not _is_score(each)]
        return f"{_kind(wrong[0])} in a list" if wrong else "a list" if value else "an empty list"
    names = {dict: "an object", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), f"the number {value}" if isinstance(value, int | float) else type(value).__name__)
