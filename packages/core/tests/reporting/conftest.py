"""Reports to write, built from a store as a run builds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from wm_core.results import build_report
from wm_core.specs import Cell, Checkpoint, EnvSpec, EpisodeRecord, FailureRecord, Provenance, RunReport, RunSpec
from wm_core.store import RunDirectory

MakeReport = Callable[..., RunReport]

PROVENANCE = Provenance(
    started="2026-01-02T03:04:05+00:00",
    command="wmbench run -a iris -g ALE/Pong-v5",
    python="3.11.7",
    platform="Linux-6.1-x86_64",
    cpu="A CPU (2 cores)",
    packages={"wm-core": "0.1.0", "numpy": "2.4.6", "ale-py": "0.12.1"},
    git_commit="0123456789abcdef0123456789abcdef01234567",
    git_dirty=True,
)


@pytest.fixture(scope="session")
def make_report(tmp_path_factory: pytest.TempPathFactory) -> MakeReport:
    """`make_report({game: [returns of seed 0, returns of seed 1, ...]}, planned=..., env={...}, **RunSpec fields)`."""

    def make(
        returns: Mapping[str, Sequence[Sequence[float]]] | None = None,
        *,
        agent: str = "iris",
        planned: int = 3,
        env: Mapping[str, Any] | None = None,
        failures: Sequence[str] = (),
        packages: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> RunReport:
        returns = {"ALE/Pong-v5": [[18.0, 20.0, 21.0], [15.0, 16.5, 19.0]]} if returns is None else returns
        values = {"protocol": "atari100k", "image_size": (64, 64), "frame_skip": 4, **(env or {})}
        envs = tuple(EnvSpec(requested=g.removeprefix("ALE/"), id=g, backend="atari", **values) for g in returns)
        checkpoints = {g: Checkpoint(path=f"weights/{g.rpartition('/')[2]}.pt", sha256="ab12" * 16) for g in returns}
        seeds = tuple(range(len(next(iter(returns.values())))))
        spec = RunSpec(
            **{
                "agent": agent,
                "adapter": "some.module:Adapter",
                "envs": envs,
                "seeds": seeds,
                "episodes": planned,
                "checkpoints": checkpoints,
                "num_envs": 2,
                **fields,
            }
        )
        provenance = PROVENANCE.model_copy(update={"packages": {**PROVENANCE.packages, **(packages or {})}})
        path: Path = tmp_path_factory.mktemp("run")
        run = RunDirectory.create_or_resume(path, spec, provenance)
        for cell in spec.cells():
            for episode, value in enumerate(returns[cell.game][cell.seed]):
                run.append(_episode(cell, episode, value))
        for message in failures:
            run.append(FailureRecord(cell=spec.cells()[-1], episode=planned - 1, error="AgentFailure", message=message))
        return build_report(run)

    return make


def _episode(cell: Cell, episode: int, value: float) -> EpisodeRecord:
    return EpisodeRecord(
        cell=cell,
        episode=episode,
        env_seed=episode,
        episode_return=value,
        length=100 + episode,
        terminated=episode % 2 == 0,
        truncated=episode % 2 == 1,
        wall_time_s=0.25,
    )


@pytest.fixture(scope="session")
def renamed() -> Callable[[RunReport, str], RunReport]:
    """`renamed(report, text)`: the report with `text` as every name, path and message that a user or plugin chooses."""

    def rename(report: RunReport, text: str) -> RunReport:
        values = report.model_dump()
        values |= {"agent": text, "preset": text, "notes": (text,)}
        values["provenance"]["command"] = text
        for game in values["games"]:
            game["env"] |= {"id": text, "requested": f"{text}?", "protocol": text, "options": {text: text}}
            game["checkpoint"] = {"path": text, "sha256": "ab12" * 16}
        cell = {"agent": text, "game": text, "seed": 0}
        values["failures"] = ({"cell": cell, "error": "AgentFailure", "message": text},)
        return RunReport.model_validate(values)

    return rename
