"""How a report's numbers were measured, as labelled lines: the same in Markdown and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from wm_core.reporting.formatting import listing
from wm_core.reporting.layout import UNTRAINED
from wm_core.specs import EnvSpec, FailureRecord, GameResult, RunReport, TrainBudget, canonical_json

TIMES = ("Started", "Command", "Episode times")
"""Labels of the lines that differ between two equal runs."""

Facts = list[tuple[str, str]]


def all_facts(report: RunReport) -> Facts:
    """Everything, a line each; the last three lines are `TIMES`."""
    provenance = report.provenance
    commit = provenance.git_commit or "none"
    dirty = " with uncommitted changes" if provenance.git_dirty else ""
    return [
        ("Agent", report.agent),
        *([("Suite", report.suite)] if report.suite else []),
        ("Coverage", coverage(report)),
        *([("Weights", UNTRAINED)] if report.untrained else []),
        ("Seeds", f"{listing(seeds(report), 20)}; they vary {report.seeds_vary}"),
        *(("Environment", line) for line in environment_lines(report.games)),
        *(("Requested", names) for names in requested(report.games, len(report.games))),
        *(("Checkpoint", line) for line in checkpoint_lines(report)),
        *([("Trained here", budget(report.trained_here))] if report.trained_here else []),
        ("Preset", report.preset or "none"),
        ("Device", f"{report.device}, {report.num_envs} environments together (num_envs)"),
        ("Versions", versions(report)),
        ("Hardware", "; ".join([provenance.platform, provenance.cpu, *provenance.gpus])),
        ("Git commit of the working directory", f"{commit}{dirty}"),
        ("Specification", f"SHA-256 {report.spec_sha256}"),
        ("Failures", f"{len(report.failures)}"),
        *(("Note", note) for note in report.notes),
        *zip(
            TIMES,
            (provenance.started, provenance.command, f"{report.wall_time_s:.2f} s, overlapping"),
            strict=True,
        ),
    ]


def short_facts(report: RunReport) -> Facts:
    """What a reader of the table itself must know, a phrase each."""
    return [
        ("Coverage", coverage(report)),
        ("Seeds", f"vary {report.seeds_vary}"),
        *(("Environment", line) for line in environment_lines(report.games)),
        *(("Requested", names) for names in requested(report.games, 3) if len(report.games) <= 3),
        *(("Checkpoint", line) for line in _short_checkpoints(report)),
        *([("Trained here", budget(report.trained_here))] if report.trained_here else []),
        *([("Preset", report.preset)] if report.preset else []),
        ("Device", f"{report.device}, num_envs={report.num_envs}"),
        ("Versions", versions(report)),
        *([("Failures", _short_failures(report.failures))] if report.failures else []),
        *(("Note", note) for note in report.notes),
    ]


def coverage(report: RunReport) -> str:
    """`480/500 episodes (incomplete)`, or learning runs where those are measured."""
    unit = "learning runs" if report.measures == "learning" else "episodes"
    return f"{report.coverage} {unit}{'' if report.coverage.complete else ' (incomplete)'}"


def seeds(report: RunReport) -> list[int]:
    """All seeds, in order."""
    return list(dict.fromkeys(seed.seed for game in report.games for seed in game.seeds))


def environment_lines(games: Sequence[GameResult]) -> Iterator[str]:
    """A line for each set of equal environment values, with the games that share it."""
    groups: dict[str, list[EnvSpec]] = {}
    for game in games:
        groups.setdefault(canonical_json(game.env.model_dump(mode="json", exclude={"id", "requested"})), []).append(
            game.env
        )
    for envs in groups.values():
        names = f"all {len(games)} games" if len(envs) == len(games) > 3 else ", ".join(env.id for env in envs)
        yield f"{names}: {environment_values(envs[0])}"


def requested(games: Sequence[GameResult], limit: int) -> Iterator[str]:
    """What was asked for, where an id reads otherwise: `ALE/Pong-v5 as Pong-v5, ...`; nothing where none does."""
    renamed = [f"{g.env.id} as {g.env.requested}" for g in games if g.env.requested != g.env.id]
    if renamed:
        yield listing(renamed, limit)


def environment_values(env: EnvSpec) -> str:
    """Backend, protocol and every value that is not the default, as `--env` takes them."""
    values = [
        f"{name}={assigned(getattr(env, name))}"
        for name, field in EnvSpec.model_fields.items()
        if name not in ("requested", "id", "backend", "protocol", "modified")
        and getattr(env, name) != field.get_default(call_default_factory=True)
    ]
    return (
        f"backend {env.backend}, protocol {env.protocol_label}; {', '.join(values) or 'all values at their defaults'}"
    )


def assigned(value: Any) -> str:
    """A field's value as `--env FIELD=VALUE` takes it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def checkpoint_lines(report: RunReport) -> Iterator[str]:
    """A line for each game with weights: path and digest, or the digests of what each seed trained."""
    for game in report.games:
        if game.checkpoint is not None:
            yield f"{game.env.id}: {game.checkpoint.path}, SHA-256 {game.checkpoint.sha256[:12]}"
        own = [f"seed {s.seed} {s.checkpoint_sha256[:12]}" for s in game.seeds if s.checkpoint_sha256 is not None]
        if own:
            yield f"{game.env.id}: trained here, SHA-256 {', '.join(own)}"


def budget(train: TrainBudget) -> str:
    """`epochs=50`, or that the preset decides."""
    limits = train.model_dump(exclude_none=True)
    return ", ".join(f"{name}={value}" for name, value in limits.items()) or "for as long as the preset says"


def versions(report: RunReport) -> str:
    """`Python 3.11.7, gymnasium 1.1.0, ...`."""
    packages = (f"{name} {version}" for name, version in sorted(report.provenance.packages.items()))
    return ", ".join([f"Python {report.provenance.python}", *packages])


def failure_line(failure: FailureRecord) -> str:
    """What failed, where, and how."""
    episode = "" if failure.episode is None else f", episode {failure.episode}"
    return f"{failure.cell.game}, seed {failure.cell.seed}{episode}: {failure.error}: {failure.message}"


def _short_checkpoints(report: RunReport) -> Iterator[str]:
    given = {game.checkpoint for game in report.games if game.checkpoint is not None}
    named = [
        f"{game.env.id} {PurePath(game.checkpoint.path).name} ({game.checkpoint.sha256[:12]})"
        for game in report.games
        if game.checkpoint is not None
    ]
    trained = sum(seed.checkpoint_sha256 is not None for game in report.games for seed in game.seeds)
    if len(given) == 1 and len(named) > 1:
        (one,) = given
        named = [f"{PurePath(one.path).name} ({one.sha256[:12]}) in all games"]
    if named:
        yield f"{listing(named, 3)} (SHA-256)"
    if trained:
        yield f"{trained} trained here, digests in benchmark_results.json"


def _short_failures(failures: Sequence[FailureRecord]) -> str:
    first = failure_line(failures[0])
    return first if len(failures) == 1 else f"{len(failures)}, the first: {first}"
