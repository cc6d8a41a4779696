"""The nouns: what an agent is, what an environment is, what is run, what was measured.

Every model is frozen, refuses unknown fields, and is plain JSON once dumped, so that a run can be
written down, hashed, sent to another machine, and read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator

API_VERSION = 1
"""The plugin contract this core speaks. A manifest with another `api_version` is refused by name."""

Capability = Literal["evaluate", "train", "imagine"]


class Spec(BaseModel):
    """Base of all specifications: frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Demo(Spec):
    """What `wmbench run --agent NAME` measures when nothing else is said."""

    game: str
    checkpoint: str | None = Field(None, description="Path of a bundled checkpoint, relative to the package")
    seeds: tuple[int, ...] = (0,)
    episodes: int = 100


class AgentManifest(Spec):
    """Everything the core needs to know of an agent before it imports a learning library."""

    name: str = Field(max_length=80, description="Names a directory of results, so no path: no '/', no leading '.'")
    adapter: str = Field(description="'module:Class' of the adapter; imported only when the agent runs")
    api_version: int = API_VERSION
    summary: str = ""
    paper: str = Field("", description="Where the agent is described, e.g. 'arXiv:2209.00588'")
    presets: tuple[str, ...] = Field((), description="Names of configurations, the cheapest first")
    capabilities: tuple[Capability, ...] = ("evaluate",)
    needs_checkpoint: bool = Field(True, description="False for agents without weights, like 'random'")
    devices: tuple[str, ...] = Field(("cpu",), description="Kinds of device it runs on: 'cpu', 'cuda', 'mps'")
    env_defaults: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="EnvSpec fields the agent was published with, by backend name or '*' for all",
    )
    demo: Demo | None = None

    @field_validator("name")
    @classmethod
    def _names_a_directory(cls, name: str) -> str:
        if not name.strip() or name.startswith(".") or not name.isprintable() or set(name) & set("/\\"):
            raise ValueError(f"{name!r} cannot name a directory; use letters, digits and dashes")
        return name

    model: str | None = Field(None, description="'module:callable' behind wm_core.create_model(name, ...)")


class EnvManifest(Spec):
    """Which game ids a backend serves, and where the backend is."""

    name: str
    backend: str = Field(description="'module:Class' of the EnvBackend; imported only when it is used")
    api_version: int = API_VERSION
    summary: str = ""
    patterns: tuple[str, ...] = Field(description="Globs over game ids, e.g. 'ALE/*'; '*' is the fallback")


Observation = Literal["native", "rgb", "gray"]
ResizeFilter = Literal["cv2-area", "cv2-bilinear", "pil-bilinear", "nearest"]
MaxPool = Literal["none", "before_resize", "after_resize"]


class EnvSpec(Spec):
    """Everything that changes a score. Two runs with equal EnvSpecs measure the same thing."""

    requested: str = Field(description="The game id as the user wrote it")
    id: str = Field(description="The id it resolved to, e.g. 'ALE/Pong-v5'")
    backend: str
    protocol: str = Field("default", description="The named protocol these values come from")
    modified: tuple[str, ...] = Field((), description="Fields of the protocol that were set to something else")
    vectorization: Literal["serial", "native"] = Field(
        "serial", description="'native': the backend's own vector environment (its own random streams)"
    )
    observation: Observation = Field("native", description="'rgb' renders where observations are no images")
    image_size: tuple[int, int] | None = Field(None, description="(height, width) in pixels; None: as given")
    resize: ResizeFilter = "cv2-area"
    frame_skip: int | tuple[int, int] = Field(1, description="Frames an action is held; (a, b): uniform a..b-1")
    max_pool: MaxPool = Field("none", description="Pixel maximum of the last two frames, and when")
    sticky_actions: float = Field(0.0, ge=0.0, le=1.0, description="Chance that the last action is repeated")
    noop_max: int = Field(0, ge=0, description="The start is 1 to this many no-op frames, uniformly; 0: none")
    fire_on_reset: bool = False
    life_loss_ends_episode: bool = False
    max_frames: int | None = Field(None, gt=0, description="Limit in raw frames after the start; a truncation")
    clip_rewards: bool = Field(False, description="Rewards become their sign")
    full_action_space: bool = False
    frame_stack: int = Field(1, ge=1, description="Frames stacked on a new leading axis when > 1")
    options: dict[str, Any] = Field(default_factory=dict, description="Further constructor arguments (JSON)")

    @property
    def protocol_label(self) -> str:
        """The protocol, and what was changed in it: `iris (modified: max_frames)`."""
        return f"{self.protocol} (modified: {', '.join(self.modified)})" if self.modified else self.protocol

    @field_validator("image_size", mode="before")
    @classmethod
    def _square_or_height_by_width(cls, value: Any) -> Any:
        """`64` and `"64x48"` (height x width) are read like `[64, 48]`."""
        if isinstance(value, int) and not isinstance(value, bool):
            return (value, value)
        if isinstance(value, str) and value.count("x") == 1:
            return tuple(value.split("x"))
        return value


class Cell(Spec):
    """The unit of work: one agent on one game with one seed."""

    agent: str
    game: str = Field(description="EnvSpec.id")
    seed: int = Field(ge=0)

    def __str__(self) -> str:
        return f"{self.agent} on {self.game}, seed {self.seed}"


class Checkpoint(Spec):
    """A checkpoint file and its digest, taken before the run starts."""

    path: str
    sha256: str


class TrainBudget(Spec):
    """How long to train before measuring. None leaves the limit to the preset."""

    epochs: int | None = Field(None, gt=0)
    steps: int | None = Field(None, gt=0, description="Environment steps of the agent")


Measures = Literal["policy", "learning"]
"""What a cell measures: the returns of a policy, or a whole learning run."""

_SINCE_SUITES = ("measures", "settings", "seed_checkpoints", "partial")
"""Fields of a `RunSpec` that are part of its identity only where they are set."""


class RunSpec(Spec):
    """One agent's whole measurement, resolved: nothing in it depends on what is installed later."""

    agent: str
    adapter: str = Field(description="'module:Class'")
    plugins: tuple[str, ...] = Field((), description="Unpublished plugins to load first, 'file.py:NAME'")
    code_sha256: str | None = Field(None, description="Of the source of an unpublished agent, which has no version")
    envs: tuple[EnvSpec, ...]
    seeds: tuple[int, ...]
    episodes: int = Field(gt=0)
    measures: Measures = "policy"
    checkpoints: dict[str, Checkpoint] = Field(default_factory=dict, description="By EnvSpec.id, for all seeds")
    seed_checkpoints: dict[str, dict[int, Checkpoint]] = Field(
        default_factory=dict, description="By EnvSpec.id and seed: each seed's own weights, from a training run each"
    )
    partial: bool = Field(False, description="Cells without a checkpoint are planned, listed as missing, not measured")
    suite: str | None = Field(None, description="The suite it was planned from; a label, not part of the identity")
    preset: str | None = None
    train: TrainBudget | None = None
    settings: dict[str, Any] = Field(default_factory=dict, description="Configuration of the training, by dotted name")
    untrained: bool = False
    device: str = "cpu"
    num_envs: int = Field(1, gt=0)
    video: bool = False

    def cells(self) -> list[Cell]:
        """All cells, games outermost, in the order in which the report lists them."""
        return [Cell(agent=self.agent, game=env.id, seed=seed) for env in self.envs for seed in self.seeds]

    def env(self, game: str) -> EnvSpec:
        """The environment of a cell."""
        return next(env for env in self.envs if env.id == game)

    def of_cell(self, cell: Cell) -> RunSpec:
        """The part of it that one cell needs: a job of a large suite stays small."""
        own = {seed: weights for seed, weights in self.seed_checkpoints.get(cell.game, {}).items() if seed == cell.seed}
        shared = {game: weights for game, weights in self.checkpoints.items() if game == cell.game}
        return self.model_copy(
            update={
                "envs": (self.env(cell.game),),
                "seeds": (cell.seed,),
                "checkpoints": shared,
                "seed_checkpoints": {cell.game: own} if own else {},
            }
        )

    def checkpoint(self, cell: Cell) -> Checkpoint | None:
        """The weights given for a cell: its seed's own, or its game's; None where none were given."""
        return self.seed_checkpoints.get(cell.game, {}).get(cell.seed) or self.checkpoints.get(cell.game)

    def missing(self) -> list[Cell]:
        """Planned cells that cannot be measured, because nobody has given their weights."""
        return [cell for cell in self.cells() if self.checkpoint(cell) is None] if self.partial else []

    def identity(self) -> dict[str, Any]:
        """The part that decides what is measured: how it is run and where files lie is left out."""
        identity = self.model_dump(mode="json", exclude={"plugins", "video", "suite"})
        identity["checkpoints"] = {game: c.sha256 for game, c in sorted(self.checkpoints.items())}
        identity["seed_checkpoints"] = {
            game: {str(seed): c.sha256 for seed, c in sorted(seeds.items())}
            for game, seeds in sorted(self.seed_checkpoints.items())
        }
        for name in _SINCE_SUITES:
            if getattr(self, name) == type(self).model_fields[name].get_default(call_default_factory=True):
                del identity[name]
        return identity

    def completes(self, earlier: RunSpec) -> bool:
        """Whether this is `earlier`, a partial run, with more of its missing weights given and nothing else changed.

        An environment may differ only where its game had no weights: a checkpoint can bring its own picture.
        """
        mine, theirs = self.identity(), earlier.identity()
        for identity in (mine, theirs):
            for name in ("checkpoints", "seed_checkpoints", "envs"):
                identity.pop(name, None)
        same = self.partial and earlier.partial and mine == theirs and self.cells() == earlier.cells()
        given = [(cell, weights) for cell in earlier.cells() if (weights := earlier.checkpoint(cell)) is not None]
        return same and all(
            (now := self.checkpoint(cell)) is not None
            and now.sha256 == weights.sha256
            and self.env(cell.game) == earlier.env(cell.game)
            for cell, weights in given
        )

    def digest(self) -> str:
        """SHA-256 of the identity in canonical JSON."""
        return hashlib.sha256(canonical_json(self.identity()).encode()).hexdigest()

    def differences(self, other: RunSpec) -> Iterator[str]:
        """Names of the identity's fields in which two specifications differ."""
        mine, theirs = self.identity(), other.identity()
        return (name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class EpisodeRecord(Spec):
    """One finished episode, as it stands in `episodes.jsonl`."""

    kind: Literal["episode"] = "episode"
    cell: Cell
    episode: int = Field(ge=0, description="0 .. episodes-1 within the cell")
    env_seed: int | None = Field(description="The seed the environment was reset with; None: unknown")
    episode_return: FiniteFloat
    length: int | None = Field(description="Agent steps")
    terminated: bool | None
    truncated: bool | None
    wall_time_s: float | None = Field(None, description="Seconds from reset to end; not part of any score")
    extras: dict[str, Any] = Field(default_factory=dict, description="What the environment adds at the end")


class FailureRecord(Spec):
    """Something planned that was not measured. It never enters an aggregate."""

    kind: Literal["failure"] = "failure"
    cell: Cell
    episode: int | None = Field(None, description="None: the cell failed as a whole")
    error: str = Field(description="Name of the error's type")
    message: str
    exit_code: int = 1


class TrainedRecord(Spec):
    """A cell's own training has ended; a resumed cell measures these weights."""

    kind: Literal["trained"] = "trained"
    cell: Cell
    checkpoint: Checkpoint


class LearningRecord(Spec):
    """A cell that measures learning has ended, and left the log that its suite scores."""

    kind: Literal["learning"] = "learning"
    cell: Cell
    log: str = Field(description="Directory of the log, relative to the run directory")
    sha256: dict[str, str] = Field(description="Digests of the log's files, by path relative to `log`")
    episodes: int = Field(ge=0, description="Episodes in the log")
    steps: int = Field(ge=0, description="Agent steps in the log")
    learned: bool = Field(description="False for an agent that does not train and only acted")


class Provenance(Spec):
    """Where the numbers come from."""

    started: str
    command: str
    python: str
    platform: str
    cpu: str
    gpus: tuple[str, ...] = ()
    packages: dict[str, str] = Field(description="Versions of the distributions that took part")
    git_commit: str | None = None
    git_dirty: bool | None = None
    notes: tuple[str, ...] = Field((), description="What the backends say a reader must know of these environments")


class SessionRecord(Spec):
    """A process began, or went on, writing to the run directory."""

    kind: Literal["session"] = "session"
    provenance: Provenance


Record = Annotated[
    EpisodeRecord | FailureRecord | TrainedRecord | LearningRecord | SessionRecord, Field(discriminator="kind")
]
"""A line of `episodes.jsonl`."""


class Suite(Spec):
    """A benchmark as data: which games, how they are played, how long an agent trains, how it is scored."""

    name: str
    summary: str = ""
    paper: str = Field("", description="Where the benchmark is described, e.g. 'arXiv:1903.00374'")
    api_version: int = API_VERSION
    games: dict[str, tuple[str, ...]] = Field(description="Group -> game ids; --only takes groups or ids")
    backend: str | None = Field(None, description="The environment backend; None: the one that claims each id")
    protocol: str | None = Field(None, description="Named preprocessing of the backend")
    seeds: tuple[int, ...] = (0,)
    episodes: int = Field(100, gt=0, description="Episodes a seed; one learning run counts as one")
    budget: TrainBudget | None = Field(None, description="How long an agent trains; None: its preset says")
    measures: Measures = "policy"
    normalisation: Literal["human", "none"] = "none"
    baselines: tuple[str, ...] = Field((), description="Names of published results to compare with")
    scorer: str | None = Field(
        None, description="'module:callable', called as scorer(run: RunDirectory) -> SuiteScores"
    )
    figures: str | None = Field(
        None, description="'module:callable', called as figures(scores, directory) -> list[Path]; needs matplotlib"
    )

    def ids(self) -> tuple[str, ...]:
        """All game ids, group by group."""
        return tuple(game for games in self.games.values() for game in games)


class SuiteScore(Spec):
    """What a suite's own scorer says of one group of games and one seed."""

    group: str
    seed: int
    score: FiniteFloat | None = Field(description="None where the group is incomplete")
    complete: bool
    done: int = Field(description="Cells with all that the score needs")
    planned: int = Field(description="Cells the whole group has")
    detail: str = Field("", description="What a reader must know of this score")
    tags: tuple[str, ...] = Field((), description="What the group tests, e.g. 'memory'")


class SuiteScores(Spec):
    """All scores of a run, and what must be said of them."""

    rows: tuple[SuiteScore, ...]
    notes: tuple[str, ...] = ()


class Interval(Spec):
    """A point estimate with a percentile-bootstrap interval, or the reason why there is none."""

    point: FiniteFloat
    lo: FiniteFloat | None = None
    hi: FiniteFloat | None = None
    refused: str | None = Field(None, description="Why no interval is given, e.g. a single run")


class SeedResult(Spec):
    """What one cell gave."""

    seed: int
    planned: int
    episode_returns: tuple[FiniteFloat, ...]
    episode_lengths: tuple[int | None, ...]
    terminated: int | None = Field(description="Episodes the environment ended; None where the agent does not say")
    truncated: int | None = Field(description="Episodes a time limit ended; None where the agent does not say")
    mean: FiniteFloat | None = Field(description="None when nothing was measured")
    std: FiniteFloat | None = Field(description="Sample standard deviation over episodes (n-1); None below two")
    checkpoint_sha256: str | None = Field(
        None, description="Of the weights measured, where each seed has its own: trained here, or given"
    )
    learning: LearningRecord | None = Field(None, description="Where a cell is a whole learning run: its log")

    @property
    def measured(self) -> int:
        """How much of what was planned is there: episodes, or the one learning run."""
        return len(self.episode_returns) + (self.learning is not None)

    @property
    def complete(self) -> bool:
        """Whether everything planned was measured."""
        return self.measured == self.planned


class Aggregate(Spec):
    """Statistics over runs; a run is one seed. Computed from the store alone."""

    scale: Literal["return", "human-normalised"]
    per_seed_means: tuple[FiniteFloat | None, ...] = Field(
        description="One number a seed, in the order of the seeds: the mean return on a single game, the mean "
        "human-normalised score over games otherwise; None where the seed is incomplete"
    )
    mean: Interval | None
    median: Interval | None
    iqm: Interval | None
    optimality_gap: Interval | None = Field(None, description="On human-normalised scores only")
    superhuman: int | None = Field(None, description="Games with a mean human-normalised score >= 1")
    num_seeds: int
    level: float = 0.95
    resamples: int


class GameResult(Spec):
    """One game of one agent."""

    env: EnvSpec
    checkpoint: Checkpoint | None
    seeds: tuple[SeedResult, ...]
    aggregate: Aggregate
    human_normalised: FiniteFloat | None = Field(
        description="Mean human-normalised score; None where there are no baselines for what was played"
    )


class Coverage(Spec):
    """Measured of planned."""

    measured: int
    planned: int

    @property
    def complete(self) -> bool:
        """Whether everything planned was measured."""
        return self.measured == self.planned

    def __str__(self) -> str:
        return f"{self.measured}/{self.planned}"


class RunReport(Spec):
    """Everything that was measured of one agent, in a form that can go into a paper as it is."""

    format: Literal["wmbench.report/1"] = "wmbench.report/1"
    agent: str
    untrained: bool
    trained_here: TrainBudget | None
    preset: str | None
    device: str
    num_envs: int
    seeds_vary: str = Field(description="What a seed changes: training and evaluation, or evaluation only")
    spec_sha256: str
    measures: Measures = "policy"
    suite: str | None = Field(None, description="The suite it was planned from")
    coverage: Coverage = Field(description="Episodes; learning runs where those are measured")
    games: tuple[GameResult, ...]
    aggregate: Aggregate = Field(description="Over all games; on a single game, that game's")
    failures: tuple[FailureRecord, ...]
    missing: tuple[Cell, ...] = Field((), description="Planned, but nobody has given their weights")
    notes: tuple[str, ...] = Field((), description="What a reader must know, e.g. versions changed mid-run")
    provenance: Provenance
    wall_time_s: float = Field(description="Sum of the episodes' wall times; they overlap with several environments")
