"""Small suites and their agents. Loaded by the tests with `--plugin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wm_core.errors import CheckpointError
from wm_core.protocols import TrainProgress, TrainRequest
from wm_core.random_policy import RandomPolicy
from wm_core.specs import AgentManifest, Suite, SuiteScore, SuiteScores, TrainBudget
from wm_core.store import RunDirectory

HERE = Path(__file__).resolve()


class Numbered(RandomPolicy):
    """Its weights are a number in a file; training writes the number of steps it was given."""

    def load_checkpoint(self, path: Path) -> None:
        try:
            self.weights = int(path.read_text())
        except ValueError as error:
            raise CheckpointError(f"{path} is not a checkpoint of numbered; train one") from error

    def train(self, request: TrainRequest) -> Path:
        path = request.directory / "weights.txt"
        request.on_progress(TrainProgress(done=0.5, steps=10))
        path.write_text(f"{request.overrides.get('offset', 0) + (request.budget.steps or 0)}")
        return path


class Picky(RandomPolicy):
    """Fails on seed 1 until there is a file `mended` in the working directory."""

    def act(self, observations: Any) -> Any:
        if self.context.seed == 1 and not Path("mended").exists():
            raise RuntimeError("seed 1 is not to my taste")
        return super().act(observations)


def count_episodes(run: RunDirectory) -> SuiteScores:
    """The share of the planned episodes that each game has."""
    rows = []
    for cell, episodes in run.episodes().items():
        done, planned = len(episodes), run.spec.episodes
        score = 1.0 if done == planned else None
        rows.append(
            SuiteScore(
                group=cell.game, seed=cell.seed, score=score, complete=done == planned, done=done, planned=planned
            )
        )
    return SuiteScores(rows=tuple(rows), notes=("a score of nothing",))


def no_scores(run: RunDirectory) -> object:
    return "all went well"


def draw(scores: SuiteScores, directory: Path) -> list[Path]:
    path = directory / "scores.txt"
    path.write_text(str(len(scores.rows)))
    return [path]


SMALL = Suite(
    name="small",
    summary="two small games",
    games={"catch": ("wm/Catch-v0",), "control": ("CartPole-v1", "MountainCar-v0")},
    seeds=(0, 1, 2),
    episodes=2,
    budget=TrainBudget(steps=7),
)
SCORED = SMALL.model_copy(
    update={
        "name": "scored",
        "games": {"catch": ("wm/Catch-v0",)},
        "seeds": (0, 1),
        "scorer": f"{HERE}:count_episodes",
        "figures": f"{HERE}:draw",
    }
)
LEARNING = SMALL.model_copy(update={"name": "learning", "measures": "learning"})
SCORED_BADLY = SCORED.model_copy(update={"name": "scored-badly", "scorer": f"{HERE}:no_scores"})

NUMBERED = AgentManifest(
    name="numbered", adapter=f"{HERE}:Numbered", capabilities=("evaluate", "train"), presets=("tiny",)
)
PICKY = AgentManifest(name="picky", adapter=f"{HERE}:Picky", needs_checkpoint=False)
