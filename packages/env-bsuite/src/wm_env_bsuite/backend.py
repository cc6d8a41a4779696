"""The backend: from a bsuite id and an `EnvSpec` to an environment."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium

from wm_core.envs.checks import check_numbers, check_unset
from wm_core.envs.gymnasium_env import EMULATOR_FIELDS, preprocess
from wm_core.errors import UsageError
from wm_core.protocols import LOG_DIR, LearningLog
from wm_core.specs import EnvSpec, Measures
from wm_env_bsuite.experiments import EXPERIMENTS, IDS, SEEDED_BY_CONSTRUCTOR, WITHOUT_CHANCE, experiment_of
from wm_env_bsuite.log_files import log_file, read_log

_PART_OF_THE_PROBLEM = ("frame_skip", "max_frames")


class BsuiteBackend:
    """Serves bsuite's 468 ids. With the option `log_dir`, what `make` returns logs a learning run there."""

    def ids(self) -> Sequence[str]:
        """All ids, experiment by experiment."""
        return IDS

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """None: bsuite leaves nothing to choose."""
        return {}

    def resolve(self, game: str) -> EnvSpec:
        """bsuite's own arrays; as `rgb`, pictures of 64 x 64 by nearest neighbour. `UsageError` for no id of bsuite."""
        if game not in IDS:
            raise UsageError(_no_such_id(game))
        return EnvSpec(requested=game, id=game, backend="bsuite", observation="native", resize="nearest")

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for what means nothing here, and for a log of a game that is not bsuite's own."""
        check_numbers(spec)
        check_unset(spec, EMULATOR_FIELDS)
        unknown = sorted(set(spec.options) - {LOG_DIR})
        if unknown:
            raise UsageError(f"{spec.id} knows no option '{unknown[0]}', but {LOG_DIR}: the directory of its log")
        if LOG_DIR not in spec.options:
            return
        if not isinstance(spec.options[LOG_DIR], str) or not spec.options[LOG_DIR]:
            raise UsageError(f"{LOG_DIR}={spec.options[LOG_DIR]!r} of {spec.id} is no path of a directory")
        for name in _PART_OF_THE_PROBLEM:
            value, own = getattr(spec, name), EnvSpec.model_fields[name].default
            if value != own:
                raise UsageError(f"{spec.id} with {name}={value} has no bsuite score; leave {name} at {own}")

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """The environment, as pictures or logged where that is asked for.

        Pictures are drawn at `image_size`, or at 64 x 64 and resized by another filter than 'nearest'.
        """
        from wm_env_bsuite.game import BsuiteGame
        from wm_env_bsuite.recording import RecordedGame

        self.check(spec)
        size = spec.image_size if spec.resize == "nearest" else None
        game = BsuiteGame(spec.id, pictures=spec.observation != "native", size=size)
        if LOG_DIR in spec.options:
            return preprocess(RecordedGame(game, Path(spec.options[LOG_DIR])), spec)
        return preprocess(game, spec)

    def recorded(self, spec: EnvSpec, directory: Path | None) -> EnvSpec:
        """The specification with its log in `directory`, or, with None, without a log. `UsageError` as in `check`."""
        options = {name: value for name, value in spec.options.items() if name != LOG_DIR}
        if directory is not None:
            options[LOG_DIR] = str(directory)
        changed = spec.model_copy(update={"options": options})
        self.check(changed)
        return changed

    def learning_log(self, spec: EnvSpec, directory: Path) -> LearningLog:
        """What is in `directory` of the learning run on that id, and how much a whole run is."""
        experiment, index = experiment_of(spec.id)
        path = log_file(directory, spec.id)
        rows = read_log(path)
        last = rows[-1] if rows else {"episode": 0, "steps": 0}
        return LearningLog(
            files=(path,) if rows else (),
            episodes=int(last["episode"]),
            steps=int(last["steps"]),
            planned=experiment.episodes,
            most_steps=experiment.episodes * experiment.longest_episode(index),
        )

    def notes(self, spec: EnvSpec, measures: Measures) -> tuple[str, ...]:
        """What a reader of a report must know: what is no bsuite score, and what seeds do."""
        name = experiment_of(spec.id)[0].name
        notes = []
        if measures == "policy":
            notes.append(
                "bsuite: the mean return of a policy is not a bsuite score, which is of a whole learning run; "
                "`wmbench suite bsuite` measures it"
            )
        if name in WITHOUT_CHANCE:
            notes.append(f"{name}: there is no chance in the environment; a seed changes the agent alone")
        if name in SEEDED_BY_CONSTRUCTOR:
            notes.append(f"{name}: bsuite's loader takes no seed; the environment's constructor is given it")
        return tuple(notes)


def _no_such_id(game: str) -> str:
    name = game.partition("/")[0]
    if name in EXPERIMENTS:
        return f"bsuite has no '{game}'; the ids of {name} are {name}/0 to {name}/{EXPERIMENTS[name].ids - 1}"
    near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f"did you mean {near[0]}/0? " if near else ""
    return f"bsuite has no '{game}'; {hint}its experiments: {', '.join(EXPERIMENTS)}"
