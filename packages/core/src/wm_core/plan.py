"""From what a user asks to a `RunSpec`: every name resolved, every wrong input refused before anything runs."""

from __future__ import annotations

import hashlib
import inspect
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wm_core import registry
from wm_core.cell import provide_adapter
from wm_core.checkpoints import file_checkpoint
from wm_core.devices import resolve_device
from wm_core.envs.resolve import resolve_env
from wm_core.errors import PluginError, UsageError
from wm_core.film import require_video
from wm_core.protocols import ChoosesEnv
from wm_core.specs import AgentManifest, Checkpoint, EnvSpec, Measures, RunSpec, TrainBudget

DEFAULT_GAME = "wm/Catch-v0"
DEFAULT_EPISODES = 100
MOST_EPISODES = 1_000_000
MOST_SEEDS = 10_000
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Request:
    """What was asked for, before anything is looked up. None means: not said."""

    agent: str | None = None
    adapter_cls: type | None = None
    games: Sequence[str] = ()
    env_backend: str | None = None
    protocol: str | None = None
    env_overrides: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str | Path | None = None
    checkpoints: Mapping[str, str | Path] = field(default_factory=dict)
    """A checkpoint of its own for each game, by the id as it was asked for."""
    seed_checkpoints: Mapping[str, Mapping[int, str | Path]] = field(default_factory=dict)
    """A checkpoint of its own for each seed of a game; those of other seeds are left alone."""
    partial: bool = False
    """Whether games and seeds without a checkpoint are planned as missing, rather than refused."""
    seeds: Sequence[int] | None = None
    episodes: int | None = None
    preset: str | None = None
    train: TrainBudget | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Configuration of the training, by dotted name."""
    measures: Measures = "policy"
    suite: str | None = None
    untrained: bool = False
    device: str | None = None
    num_envs: int = 8
    plugins: Sequence[str] = ()
    video: bool = False


def plan(request: Request) -> RunSpec:
    """Resolve a request, or raise the `UsageError`, `PluginError` or `CheckpointError` that says what is wrong."""
    for reference in request.plugins:
        registry.load_file(reference)
    manifest = _manifest(request)
    demo = manifest.demo if not request.games else None
    seeds = _seeds(request.seeds if request.seeds is not None else demo.seeds if demo else (0,))
    episodes = request.episodes if request.episodes is not None else demo.episodes if demo else DEFAULT_EPISODES
    if not isinstance(episodes, int) or not 0 < episodes <= MOST_EPISODES:
        raise UsageError(f"{episodes} episodes were asked for; --episodes must be 1 to {MOST_EPISODES}")
    if request.num_envs <= 0:
        raise UsageError(f"{request.num_envs} environments were asked for; --num-envs must be 1 or more")
    _check_preset(manifest, request.preset)
    if request.video:
        require_video()
    games = list(request.games) or [demo.game if demo else DEFAULT_GAME]
    if request.measures == "learning":
        request = _learning(request, manifest)
    weights = _weights(request, manifest, games, seeds)
    train = None if weights else request.train
    if request.settings and train is None:
        raise UsageError("--set is configuration of a training, but nothing is trained here; leave it out")
    envs = [_env(request, manifest, game, weights.of_game(game)) for game in games]
    if len({env.id for env in envs}) < len(envs):
        raise UsageError(f"a game is named twice: {', '.join(env.id for env in envs)}")
    return RunSpec(
        agent=manifest.name,
        adapter=manifest.adapter,
        plugins=tuple(_absolute(reference) for reference in request.plugins),
        code_sha256=_code_digest(request),
        envs=tuple(envs),
        seeds=seeds,
        episodes=episodes,
        measures=request.measures,
        checkpoints={e.id: weights.shared[game] for e, game in zip(envs, games, strict=True) if game in weights.shared},
        seed_checkpoints={e.id: weights.own[game] for e, game in zip(envs, games, strict=True) if game in weights.own},
        partial=request.partial,
        suite=request.suite,
        preset=request.preset,
        train=train,
        settings=dict(request.settings),
        untrained=request.untrained,
        device=resolve_device(request.device, manifest.devices),
        num_envs=min(request.num_envs, episodes),
        video=request.video,
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """`3` is the seeds 0, 1, 2; `0,1,5` and `7,` are those seeds; `0` is the seed 0."""
    parts = [part.strip() for part in text.split(",")]
    try:
        numbers = [int(part) for part in parts if part]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 0:
        raise UsageError(f"--seeds '{text}' is neither a number of seeds, like 5, nor a list of seeds, like 0,1,2")
    if len(parts) == 1 and numbers[0] > MOST_SEEDS:
        raise UsageError(f"--seeds {text} is more than {MOST_SEEDS} seeds; for the one seed of that number: {text},")
    if len(parts) == 1 and numbers[0] > 0:
        return tuple(range(numbers[0]))
    return tuple(numbers)


def _manifest(request: Request) -> AgentManifest:
    if request.adapter_cls is not None:
        return _manifest_of_class(request.adapter_cls)
    if request.agent is None:
        raise UsageError(f"no agent was named; use --agent with one of: {', '.join(registry.names('agents'))}")
    found: AgentManifest = registry.manifest("agents", request.agent)
    return found


def _manifest_of_class(cls: type) -> AgentManifest:
    """A class handed over in Python: what it does not say of itself has the plainest value."""
    reference = f"{cls.__module__}:{cls.__qualname__}"
    if cls.__module__ == "__main__":
        import __main__

        if getattr(__main__, "__file__", None):
            reference = f"{Path(__main__.__file__ or '').resolve()}:{cls.__qualname__}"
    provide_adapter(reference, cls)
    return AgentManifest(
        name=getattr(cls, "name", None) or cls.__name__,
        adapter=reference,
        needs_checkpoint=getattr(cls, "needs_checkpoint", False),
        presets=getattr(cls, "presets", ()),
        env_defaults=getattr(cls, "env_defaults", {}),
        devices=getattr(cls, "devices", ("cpu", "cuda", "mps")),
    )


def train_budget(epochs: int | None, steps: int | None) -> TrainBudget:
    """A budget, or the `UsageError` that says what is wrong with it."""
    try:
        return TrainBudget(epochs=epochs, steps=steps)
    except ValidationError as error:
        raise UsageError(f"training for epochs={epochs}, steps={steps}: expected whole numbers above 0") from error


def _seeds(asked: Sequence[int]) -> tuple[int, ...]:
    try:
        seeds = tuple(operator.index(seed) for seed in asked)
    except TypeError as error:
        raise UsageError(f"seeds={asked!r} is no list of whole numbers; expected e.g. [0, 1, 2]") from error
    if not seeds:
        raise UsageError("no seeds were given; name at least one, e.g. --seeds 0")
    repeated = sorted(seed for seed, count in Counter(seeds).items() if count > 1)
    if repeated:
        raise UsageError(f"the seeds {', '.join(map(str, repeated))} are repeated; equal seeds are one run, not two")
    if min(seeds) < 0:
        raise UsageError(f"the seed {min(seeds)} is negative; seeds are 0 or more")
    if max(seeds) > LARGEST_SEED:
        raise UsageError(f"the seed {max(seeds)} is too large; the largest is {LARGEST_SEED}")
    return seeds


def _check_preset(manifest: AgentManifest, preset: str | None) -> None:
    if preset is not None and preset not in manifest.presets:
        known = ", ".join(manifest.presets) or "none"
        raise UsageError(f"{manifest.name} has no preset '{preset}'; it has: {known}")


@dataclass(frozen=True)
class _Weights:
    """Digested checkpoints by the game as it was asked for: one for all its seeds, or one for each."""

    shared: Mapping[str, Checkpoint] = field(default_factory=dict)
    own: Mapping[str, dict[int, Checkpoint]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.shared or self.own)

    def of_game(self, game: str) -> list[Checkpoint]:
        """All checkpoints of a game."""
        return [*self.own.get(game, {}).values(), *([self.shared[game]] if game in self.shared else [])]


def _learning(request: Request, manifest: AgentManifest) -> Request:
    """A learning run starts from nothing: the agent trains, or acts if it has nothing to train."""
    if request.checkpoint or request.checkpoints or request.seed_checkpoints or request.untrained:
        raise UsageError(
            "a learning run begins with fresh weights and is scored on what it does while it learns; leave out "
            "checkpoints and --untrained (`wmbench run -g GAME -c PATH` evaluates a checkpoint)"
        )
    if "train" in manifest.capabilities:
        return replace(request, train=request.train or TrainBudget())
    if manifest.needs_checkpoint:
        raise UsageError(f"{manifest.name} cannot be trained, and this is a measurement of learning; use `wmbench run`")
    return replace(request, train=None)


def _weights(request: Request, manifest: AgentManifest, games: Sequence[str], seeds: Sequence[int]) -> _Weights:
    """The checkpoints; none when the agent needs none, trains first, or is measured untrained."""
    strangers = sorted({*request.checkpoints, *request.seed_checkpoints} - set(games))
    if strangers:
        raise UsageError(f"a checkpoint is given for {', '.join(strangers)}, which is not among the games")
    own = {
        game: {seed: request.seed_checkpoints.get(game, {})[seed] for seed in seeds if seed in paths}
        for game, paths in request.seed_checkpoints.items()
    }
    shared = {game: path for game in games if (path := request.checkpoints.get(game, request.checkpoint)) is not None}
    if request.seed_checkpoints and not shared and not any(own.values()):
        raise UsageError(f"no checkpoint is of the seeds {', '.join(map(str, seeds))}; choose others with --seeds")
    if any(own.values()) or shared:
        if request.untrained:
            raise UsageError("--untrained measures fresh weights, but a checkpoint was given; drop one of the two")
        if not manifest.needs_checkpoint and request.adapter_cls is None:
            raise UsageError(f"{manifest.name} has no weights to load; leave the checkpoint out")
        lacking = [game for game in games if game not in shared and len(own.get(game, {})) < len(seeds)]
        if lacking and not request.partial:
            raise UsageError(f"no checkpoint is given for {', '.join(lacking)}")
        return _Weights(
            {game: file_checkpoint(Path(path)) for game, path in shared.items()},
            {
                game: {seed: file_checkpoint(Path(path)) for seed, path in paths.items()}
                for game, paths in own.items()
                if paths
            },
        )
    if request.untrained or request.train is not None or not manifest.needs_checkpoint:
        if request.train is not None and request.untrained:
            raise UsageError("--untrained and training first exclude each other; drop one of the two")
        if request.train is not None and request.adapter_cls is None and "train" not in manifest.capabilities:
            raise UsageError(f"{manifest.name} cannot be trained; it offers: {', '.join(manifest.capabilities)}")
        return _Weights()
    if manifest.demo is not None and manifest.demo.checkpoint is not None and not request.games:
        return _Weights({games[0]: file_checkpoint(_bundled(manifest))})
    suite = request.suite is not None
    ways = ["--checkpoints DIR" if suite else "-c PATH (with several agents: --checkpoint-map NAME=PATH)"]
    if "train" in manifest.capabilities:
        ways.append("--train to train first" if suite else "--train-epochs N or --train-steps N to train first")
    ways.append("--untrained to measure fresh weights (every output will say so)")
    raise UsageError(f"{manifest.name} needs a checkpoint: give {', or '.join(ways)}")


def _bundled(manifest: AgentManifest) -> Path:
    assert manifest.demo is not None
    package = manifest.adapter.partition(":")[0].partition(".")[0]
    path = Path(str(files(package))) / str(manifest.demo.checkpoint)
    if not path.exists():
        raise PluginError(f"the demo checkpoint of {manifest.name} is missing from its package: {path}; reinstall it")
    return path


def _env(request: Request, manifest: AgentManifest, game: str, checkpoints: Sequence[Checkpoint]) -> EnvSpec:
    spec = _resolve(request, manifest, game, {})
    if not manifest.needs_checkpoint and request.adapter_cls is None:
        return spec
    adapter = request.adapter_cls or registry.load_adapter(manifest.name)
    if not isinstance(adapter, ChoosesEnv):
        return spec
    paths: list[Path | None] = [Path(checkpoint.path) for checkpoint in checkpoints]
    paths = paths or [None]
    expected = [adapter.expected_env(path, request.preset, spec.backend) for path in paths]
    for path, fields in zip(paths, expected, strict=True):
        if fields != expected[0]:
            raise UsageError(
                f"the checkpoints of {game} were made for different environments: {paths[0]} expects {expected[0]}, "
                f"{path} expects {fields}; measure them in runs of their own"
            )
    return _resolve(request, manifest, game, expected[0]) if expected[0] else spec


def _resolve(request: Request, manifest: AgentManifest, game: str, expected: Mapping[str, Any]) -> EnvSpec:
    defaults = {name: dict(fields) for name, fields in manifest.env_defaults.items()}
    if expected:
        merged = {name: {**fields, **expected} for name, fields in defaults.items()}
        defaults = {"*": dict(expected), **merged}
    return resolve_env(
        game,
        backend=request.env_backend,
        protocol=request.protocol,
        overrides=request.env_overrides,
        defaults=defaults,
    )


def _code_digest(request: Request) -> str | None:
    """Digest of an agent's source where nothing else tells one version from the next: a file, a class in Python."""
    sources = []
    for reference in request.plugins:
        path = Path(reference.rpartition(":")[0])
        if path.suffix == ".py":
            sources.append(path.read_bytes())
    if request.adapter_cls is not None:
        try:
            sources.append(inspect.getsource(request.adapter_cls).encode())
        except (OSError, TypeError):  # typed at a prompt: there is no source
            sources.append(request.adapter_cls.__qualname__.encode())
    return hashlib.sha256(b"\0".join(sources)).hexdigest() if sources else None


def _absolute(reference: str) -> str:
    path, _, name = reference.rpartition(":")
    return f"{Path(path).resolve()}:{name}" if path.endswith(".py") else reference
