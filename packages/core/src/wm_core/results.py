"""From the store to the report. Nothing else is read, so a resumed, a parallel and a serial run agree."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from wm_core.metrics import aggregate, human_normalise, superhuman_count
from wm_core.metrics.baselines import has_baselines, is_normalisable
from wm_core.reporting.formatting import listing
from wm_core.specs import (
    Aggregate,
    Cell,
    Coverage,
    EnvSpec,
    EpisodeRecord,
    GameResult,
    Interval,
    RunReport,
    RunSpec,
    SeedResult,
)
from wm_core.store import RunDirectory

RESAMPLES = 2000
LEVEL = 0.95
TWO_RUNS = "intervals from two runs are too narrow: two say little of the spread"


def build_report(run: RunDirectory) -> RunReport:
    """The report of what the run directory holds now."""
    spec, episodes = run.spec, run.episodes()
    games = tuple(_game(run, env, episodes) for env in spec.envs)
    learning = spec.measures == "learning"
    return RunReport(
        agent=spec.agent,
        untrained=spec.untrained,
        trained_here=spec.train,
        preset=spec.preset,
        device=spec.device,
        num_envs=spec.num_envs,
        seeds_vary=_seeds_vary(spec),
        spec_sha256=run.manifest.spec_sha256,
        measures=spec.measures,
        suite=spec.suite,
        coverage=Coverage(
            measured=sum(seed.measured for game in games for seed in game.seeds),
            planned=sum(seed.planned for game in games for seed in game.seeds),
        ),
        games=games,
        aggregate=games[0].aggregate if len(games) == 1 else _over_games(spec, games),
        failures=tuple(run.failures()),
        missing=tuple(spec.missing()),
        notes=(*_suite_notes(spec), *([] if learning else _statistical_notes(games)), *_notes(run)),
        provenance=run.manifest.provenance,
        wall_time_s=round(sum(e.wall_time_s or 0.0 for cell in episodes.values() for e in cell.values()), 2),
    )


def _game(run: RunDirectory, env: EnvSpec, episodes: Mapping[Cell, Mapping[int, EpisodeRecord]]) -> GameResult:
    spec = run.spec
    seeds = []
    for seed in spec.seeds:
        cell = Cell(agent=spec.agent, game=env.id, seed=seed)
        played = [record for _, record in sorted(episodes[cell].items())]
        if spec.measures == "learning":
            learned = run.learned(cell)
            seeds.append(_seed(seed, [], 1, None).model_copy(update={"learning": learned}))
        else:
            seeds.append(_seed(seed, played, spec.episodes, _own_weights(run, cell)))
    means = [seed.mean if seed.complete else None for seed in seeds]
    complete = [mean for mean in means if mean is not None]
    normalised = None
    if complete and has_baselines(env):
        normalised = float(human_normalise(env.id, complete).mean())
    return GameResult(
        env=env,
        checkpoint=spec.checkpoints.get(env.id),
        seeds=tuple(seeds),
        aggregate=_aggregate("return", means, {env.id: complete}, superhuman=None),
        human_normalised=normalised,
    )


def _own_weights(run: RunDirectory, cell: Cell) -> str | None:
    """Digest of the weights of one seed alone: given for it, or trained here."""
    given = run.spec.seed_checkpoints.get(cell.game, {}).get(cell.seed)
    if given is not None:
        return given.sha256
    trained = run.trained(cell) if run.spec.train is not None else None
    return trained.checkpoint.sha256 if trained else None


def _seed(seed: int, played: Sequence[EpisodeRecord], planned: int, checkpoint: str | None) -> SeedResult:
    returns = [record.episode_return for record in played]
    return SeedResult(
        seed=seed,
        planned=planned,
        episode_returns=tuple(returns),
        episode_lengths=tuple(record.length for record in played),
        terminated=_count([record.terminated for record in played]),
        truncated=_count([record.truncated for record in played]),
        mean=statistics.fmean(returns) if returns else None,
        std=statistics.stdev(returns) if len(returns) > 1 else None,
        checkpoint_sha256=checkpoint,
    )


def _count(flags: Sequence[bool | None]) -> int | None:
    return None if None in flags else sum(bool(flag) for flag in flags)


def _over_games(spec: RunSpec, games: Sequence[GameResult]) -> Aggregate:
    """Statistics over the games with complete seeds, human-normalised; raw returns of several games do not mix."""
    if not all(has_baselines(game.env) for game in games):
        return _aggregate("return", [None] * len(spec.seeds), {}, superhuman=None)
    runs: dict[str, list[float]] = {}
    by_seed: list[list[float | None]] = [[] for _ in spec.seeds]
    for game in games:
        for place, mean in enumerate(game.aggregate.per_seed_means):
            score = None if mean is None else float(human_normalise(game.env.id, [mean])[0])
            by_seed[place].append(score)
            if score is not None:
                runs.setdefault(game.env.id, []).append(score)
    means = [statistics.fmean(s for s in scores if s is not None) if None not in scores else None for scores in by_seed]
    return _aggregate("human-normalised", means, runs, superhuman=superhuman_count(runs) if runs else None)


def _aggregate(
    scale: Literal["return", "human-normalised"],
    means: Sequence[float | None],
    runs: Mapping[str, Sequence[float]],
    *,
    superhuman: int | None,
) -> Aggregate:
    found: dict[str, Interval] = {}
    if runs and all(runs.values()):
        found = aggregate(runs, num_samples=RESAMPLES, level=LEVEL)
    return Aggregate(
        scale=scale,
        per_seed_means=tuple(means),
        mean=found.get("mean"),
        median=found.get("median"),
        iqm=found.get("iqm"),
        optimality_gap=found.get("optimality_gap") if scale == "human-normalised" else None,
        superhuman=superhuman,
        num_seeds=len(means),
        level=LEVEL,
        resamples=RESAMPLES,
    )


def _seeds_vary(spec: RunSpec) -> str:
    own = [env.id for env in spec.envs if env.id in spec.seed_checkpoints]
    if spec.train is not None:
        return "training and evaluation: each seed is a training run"
    if own and not spec.checkpoints:
        return "training and evaluation: each seed is a training run, measured from its own checkpoint"
    if own:
        return (
            f"mixed: training and evaluation in {listing(own)}, where each seed has its own checkpoint; "
            f"evaluation only in {listing(sorted(spec.checkpoints))}"
        )
    if spec.checkpoints:
        return "evaluation only: all seeds measure one checkpoint, so intervals leave out the variance of training"
    if spec.untrained:
        return "the fresh weights and evaluation"
    if spec.measures == "learning":
        return "the acting: each seed is a whole run of an agent that does not train"
    return "evaluation only: there is nothing to train"


def _suite_notes(spec: RunSpec) -> Iterator[str]:
    missing: dict[str, list[int]] = {}
    for cell in spec.missing():
        missing.setdefault(cell.game, []).append(cell.seed)
    if missing:
        named = (
            game if len(seeds) == len(spec.seeds) else f"{game} (seed {', '.join(map(str, seeds))})"
            for game, seeds in missing.items()
        )
        yield f"no checkpoint was given for {', '.join(named)}: planned, not measured, and in no aggregate"


def _statistical_notes(games: Sequence[GameResult]) -> list[str]:
    notes = []
    if any(sum(m is not None for m in game.aggregate.per_seed_means) == 2 for game in games):
        notes.append(TWO_RUNS)
    other = [game.env.id for game in games if is_normalisable(game.env.id) and not has_baselines(game.env)]
    if other:
        notes.append(
            f"no human-normalised score of {', '.join(other)}: the baselines are of whole games in raw points, "
            "with 108,000 frames or more"
        )
    return notes


def _notes(run: RunDirectory) -> list[str]:
    first = run.manifest.provenance
    notes = [note for session in run.sessions() for note in session.notes]
    for session in run.sessions():
        changed = sorted(
            name
            for name in {*first.packages, *session.packages}
            if first.packages.get(name) != session.packages.get(name)
        )
        if changed:
            versions = ", ".join(f"{n} {first.packages.get(n)} -> {session.packages.get(n)}" for n in changed)
            notes.append(f"versions changed in mid-run: {versions}")
        if (session.cpu, session.gpus) != (first.cpu, first.gpus):
            notes.append(f"hardware changed in mid-run: {first.cpu} -> {session.cpu}")
    return list(dict.fromkeys(notes))
