"""What a reader must know before reading one agent's numbers against another's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wm_core.reporting.facts import assigned
from wm_core.specs import EnvSpec, RunReport

SEEN_FIELDS = ("observation", "image_size", "resize", "max_pool", "frame_stack")
"""What the agent is shown. It belongs to the agent; every other value belongs to the game that is measured."""

RULE_FIELDS = tuple(
    name for name in EnvSpec.model_fields if name not in {*SEEN_FIELDS, "requested", "id", "protocol", "modified"}
)


def labels(reports: Sequence[RunReport]) -> list[str]:
    """A name for each report: the agent, with the start of its specification's digest where two have one name."""
    count = Counter(report.agent for report in reports)
    return [r.agent if count[r.agent] == 1 else f"{r.agent} #{r.spec_sha256[:8]}" for r in reports]


def protocol_notes(reports: Sequence[RunReport]) -> dict[str, str]:
    """By game: how the rules differ between the agents that were measured on it. Games that agree are left out."""
    return {
        game: f"measured under different protocols: {difference}. Not to be read against each other"
        for game, difference in _differences(reports, RULE_FIELDS).items()
    }


def general_notes(reports: Sequence[RunReport]) -> list[str]:
    """Everything else in which the reports differ."""
    return [
        *_observation_notes(reports),
        *_game_set_notes(reports),
        *_seed_notes(reports),
        *_version_notes(reports),
    ]


def environments(reports: Sequence[RunReport]) -> dict[str, dict[str, EnvSpec]]:
    """By game and label, games in the order in which the reports name them."""
    found: dict[str, dict[str, EnvSpec]] = {}
    for label, report in zip(labels(reports), reports, strict=True):
        for game in report.games:
            found.setdefault(game.env.id, {})[label] = game.env
    return found


def _differences(reports: Sequence[RunReport], fields: Sequence[str]) -> dict[str, str]:
    differences = {}
    for game, envs in environments(reports).items():
        differing = [name for name in fields if not _equal([getattr(env, name) for env in envs.values()])]
        if differing:
            differences[game] = ", ".join(
                f"{name} ({_each({label: assigned(getattr(env, name)) for label, env in envs.items()})})"
                for name in differing
            )
    return differences


def _observation_notes(reports: Sequence[RunReport]) -> Iterator[str]:
    games: dict[str, list[str]] = {}
    for game, difference in _differences(reports, SEEN_FIELDS).items():
        games.setdefault(difference, []).append(game)
    for difference, where in games.items():
        named = f"{len(where)} games" if len(where) > 3 else ", ".join(where)
        yield f"the agents see different observations of {named}: {difference}"


def _game_set_notes(reports: Sequence[RunReport]) -> Iterator[str]:
    sets = [frozenset(game.env.id for game in report.games) for report in reports]
    if not _equal(sets):
        sizes = {label: str(len(games)) for label, games in zip(labels(reports), sets, strict=True)}
        yield (f"aggregates are over different sets of games ({_each(sizes)}). Not to be read against each other")


def _seed_notes(reports: Sequence[RunReport]) -> Iterator[str]:
    if not _equal([report.seeds_vary for report in reports]):
        yield "seeds vary different things (see how each agent was measured), so intervals do not mean the same"


def _version_notes(reports: Sequence[RunReport]) -> Iterator[str]:
    installed = [(label, r.provenance.packages) for label, r in zip(labels(reports), reports, strict=True)]
    for package in sorted({name for _, packages in installed for name in packages}):
        versions = {label: packages[package] for label, packages in installed if package in packages}
        if not _equal(list(versions.values())):
            yield f"versions of {package} differ ({_each(versions)})"


def _each(values: Mapping[str, str]) -> str:
    """`iris, genie: 0.25; diamond: 0`: equal values once, with all who have them."""
    who: dict[str, list[str]] = {}
    for label, value in values.items():
        who.setdefault(value, []).append(label)
    return "; ".join(f"{', '.join(names)}: {value}" for value, names in who.items())


def _equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values[1:])
