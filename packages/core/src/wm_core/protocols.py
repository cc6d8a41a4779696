"""The verbs a plugin implements. Nothing asks which agent it is; everything asks which protocol it satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from wm_core.specs import Cell, EnvSpec, Measures, RunSpec, Spec, TrainBudget

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from numpy.typing import NDArray


class AdapterContext(BaseModel):
    """What an adapter is built with: `Adapter(context)`."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    env: EnvSpec
    observation_space: Any = Field(description="gymnasium.Space of one observation")
    action_space: Any = Field(description="gymnasium.Space of one action")
    seed: int = 0
    device: str = Field("cpu", description="A torch device string, resolved: 'cpu', 'cuda', 'cuda:1', 'mps'")
    preset: str | None = None
    num_envs: int = 1


class EvaluationResult(BaseModel):
    """What `evaluate` returns, validated: as many finite numbers as episodes were asked for."""

    model_config = ConfigDict(extra="allow", frozen=True)

    episode_returns: list[FiniteFloat]
    episode_lengths: list[int] | None = None


@runtime_checkable
class AgentAdapter(Protocol):
    """The smallest contract that can be measured. Built as `Adapter(context: AdapterContext)`."""

    def load_checkpoint(self, path: Path) -> None:
        """Load weights, or raise `CheckpointError`. Never falls back to fresh ones."""

    def evaluate(self, num_episodes: int, render: bool = False) -> Mapping[str, Any]:
        """Play `num_episodes` whole episodes; `{"episode_returns": [...]}` in the order played."""


@runtime_checkable
class Acts(Protocol):
    """A policy over a batch of lanes; the core plays, seeds, times and films it."""

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin new episodes where `starts` (shape `(n,)`) is true.

        `seeds[i]` belongs to lane i's new episode: draw that lane's random numbers from a generator made of
        it, and the episode is the same whatever else is in the batch.
        """

    def act(self, observations: Any) -> Any:
        """Actions for all n lanes, a batch of the action space. Observations are read-only, shape `(n, ...)`."""


class TrainProgress(Spec):
    """One line of a training's progress."""

    done: float = Field(ge=0.0, le=1.0, description="Share of the whole schedule")
    steps: int = Field(0, description="Environment steps so far")
    message: str = ""
    metrics: dict[str, float] = Field(default_factory=dict)


class TrainRequest(BaseModel):
    """What `train` is asked for. Equal requests on the same directory resume."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    budget: TrainBudget
    directory: Path = Field(description="Everything the training writes goes under it")
    overrides: dict[str, Any] = Field(default_factory=dict, description="Configuration values by dotted name")
    on_progress: Callable[[TrainProgress], None] = Field(default=lambda progress: None, exclude=True)


@runtime_checkable
class Trainable(Protocol):
    """An agent that can be trained from here."""

    def train(self, request: TrainRequest) -> Path:
        """Train in the context's environment, resuming what `request.directory` holds; the checkpoint's path."""


@runtime_checkable
class Imagines(Protocol):
    """An agent that can dream."""

    def imagine(
        self, observations: NDArray[np.uint8], actions: NDArray[np.int64] | None, horizon: int, seed: int
    ) -> Imagination:
        """Continue `observations` (shape `(T, H, W, C)`) for `horizon` steps; own actions where None."""


class Imagination(BaseModel):
    """A dream."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    frames: Any = Field(description="uint8 array (horizon, H, W, C)")
    actions: Any = Field(description="array (horizon, ...)")
    rewards: Any = Field(None, description="float array (horizon,)")
    ends: Any = Field(None, description="bool array (horizon,)")


@runtime_checkable
class ChoosesEnv(Protocol):
    """An adapter whose checkpoints say what environment they were made for."""

    @classmethod
    def expected_env(cls, checkpoint: Path | None, preset: str | None, backend: str) -> dict[str, Any]:
        """EnvSpec fields, e.g. `{"image_size": (32, 32)}`; whatever the user sets explicitly wins."""


@runtime_checkable
class EnvBackend(Protocol):
    """A family of environments. Built without arguments."""

    def ids(self) -> Sequence[str]:
        """All ids it serves, for listings and nearest-name hints."""

    def resolve(self, game: str) -> EnvSpec:
        """The default specification of a game id, or `UsageError` with the nearest ids."""

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """Named sets of EnvSpec fields, e.g. `{"atari100k": {...}}`."""

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """One environment that does exactly what the specification says."""


@runtime_checkable
class VectorBackend(Protocol):
    """A backend with a faster vector environment of its own."""

    def expresses(self, spec: EnvSpec) -> bool:
        """Whether the native vector environment can do exactly what the specification says."""

    def make_vec(self, spec: EnvSpec, num_envs: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """It must take `reset(seed=array, options={"reset_mask": mask})`, a seed for each masked lane."""


@runtime_checkable
class Notes(Protocol):
    """A backend that knows what a reader must hear of a measurement in one of its environments."""

    def notes(self, spec: EnvSpec, measures: Measures) -> tuple[str, ...]:
        """Notes on one environment, e.g. "catch/0 takes no seed". They are recorded when a run starts, and reported."""


class LearningLog(Spec):
    """What the log of a learning run holds so far, and how much a whole run is."""

    files: tuple[Path, ...] = Field(description="Empty before the first entry")
    episodes: int = Field(ge=0, description="Episodes logged")
    steps: int = Field(ge=0, description="Agent steps logged")
    planned: int = Field(gt=0, description="Episodes of a whole learning run")
    most_steps: int = Field(gt=0, description="Agent steps that so many episodes can take")

    @property
    def complete(self) -> bool:
        """Whether a whole learning run is logged."""
        return self.episodes >= self.planned


LOG_DIR = "log_dir"
"""The option of an `EnvSpec` that says where a learning run is logged. It changes nothing of what is played."""


@runtime_checkable
class RecordsLearning(EnvBackend, Protocol):
    """A backend whose games have a score of a whole learning run, taken from a log that the game itself writes."""

    def recorded(self, spec: EnvSpec, directory: Path | None) -> EnvSpec:
        """`spec` whose `make` logs to `directory`, its option `LOG_DIR`; with None, one that logs nothing.

        `UsageError` where the specification is not of what is scored. A log belongs to one environment: a second one
        with the same log, while the first is open, is a `UsageError`.
        """

    def learning_log(self, spec: EnvSpec, directory: Path) -> LearningLog:
        """The log of that game in `directory`; `StoreError` where it is damaged."""


@runtime_checkable
class KeepsLog(Protocol):
    """An environment, or a wrapper of one, that logs a learning run."""

    def log_state(self) -> dict[str, Any]:
        """What the log depends on besides the episode in progress, in plain values."""

    def restore_log(self, state: dict[str, Any] | None) -> None:
        """Go on from `log_state()`, once the episode in progress is done again; with None, begin anew.

        What was logged after the state was saved is cut.
        """


class Diagnosis(Spec):
    """One line of `wmbench doctor`."""

    name: str
    ok: bool
    detail: str
    remedy: str = Field("", description="What to install or do when it is not ok")


@runtime_checkable
class Diagnoses(Protocol):
    """A backend that needs more than its own installation, and can say whether it is there."""

    def diagnose(self) -> list[Diagnosis]:
        """Check the chain, in the order in which it must be mended."""


class CellJob(Spec):
    """A cell as it travels to an executor: self-contained JSON."""

    run_dir: str
    spec: RunSpec
    cell: Cell


class CellOutcome(Spec):
    """What an executor knows of a cell once it has ended. What was measured is in the store."""

    cell: Cell
    exit_code: int
    stderr_tail: str = ""


@runtime_checkable
class Executor(Protocol):
    """Where cells run. Built as `Executor(workers=N)`. Each cell runs `wmbench run-cell CELL.json`."""

    def map(self, jobs: Iterable[CellJob]) -> Iterator[CellOutcome]:
        """Run all jobs; yield each outcome as it ends, in any order."""
