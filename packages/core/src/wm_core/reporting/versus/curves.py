"""Evaluations in the course of trainings: from `training/*/metrics.csv` to curves."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from wm_core.errors import StoreError
from wm_core.reporting.versus.contestants import game_names
from wm_core.reporting.versus.model import Curve
from wm_core.specs import EnvSpec
from wm_core.store import RunDirectory, cell_slug

METRIC = "evaluation/mean_return"
COLUMNS = ("epoch", "env_steps", "name", "value")


def curves_of(run: RunDirectory, label: str) -> list[Curve]:
    """A curve for each training of the run that was evaluated on its way.

    Raises `StoreError` that names the line of a log that cannot be read.
    """
    found = []
    names = game_names(run.spec.envs)
    for cell in run.spec.cells():
        points = read_log(run.path / "training" / cell_slug(cell) / "metrics.csv")
        if points:
            steps, returns = zip(*points, strict=True)
            env = run.spec.env(cell.game)
            found.append(
                Curve(
                    label=label,
                    game=names[cell.game],
                    seed=cell.seed,
                    env_steps=steps,
                    frames_per_step=frames_per_step(env),
                    mean_return=returns,
                )
            )
    return found


def read_log(path: Path) -> list[tuple[int, float]]:
    """`(env_steps, mean return)` of each evaluation; empty where there is no log. A torn last line is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read {path}: {error}; move the file away to report without its curve") from error
    rows = csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))
    if tuple(next(rows, COLUMNS)) != COLUMNS:
        raise StoreError(f"{path} does not begin with {','.join(COLUMNS)}; move the file away to report without it")
    points = []
    for number, row in enumerate(rows, start=2):
        if len(row) == len(COLUMNS) and row[2] != METRIC:
            continue
        try:
            _, steps, _, value = row
            point = int(steps), float(value)
            if not math.isfinite(point[1]):
                raise ValueError
        except ValueError as error:
            damaged = ",".join(row)[:80]
            raise StoreError(f"line {number} of {path} is damaged: {damaged!r}; mend or remove it") from error
        points.append(point)
    return points


def frames_per_step(env: EnvSpec) -> float:
    """Frames of the game for each step of the agent; the mean where the skip is drawn from a range a..b-1."""
    skip = env.frame_skip
    return float(skip) if isinstance(skip, int) else (skip[0] + skip[1] - 1) / 2
