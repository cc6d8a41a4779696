"""An environment backend's manifest, and the ids and protocols it offers."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pydantic import ValidationError

from wm_core.errors import UsageError
from wm_core.protocols import EnvBackend
from wm_core.specs import EnvSpec
from wm_core.testing.environments import EnvUnderTest
from wm_core.testing.faults import ConformanceError, require
from wm_core.testing.manifests import require_api_version, require_light, require_name, require_summary


def check_manifest_is_light(env: EnvUnderTest) -> None:
    """Importing the manifest imports no heavy library."""
    require_light(env.manifest)


def check_name(env: EnvUnderTest) -> None:
    """The name is lower-case and plain."""
    require_name(env.manifest)


def check_api_version(env: EnvUnderTest) -> None:
    """The manifest speaks this core's contract."""
    require_api_version(env.manifest)


def check_summary(env: EnvUnderTest) -> None:
    """The manifest says in a line what the games are."""
    require_summary(env.manifest)


def check_backend(env: EnvUnderTest) -> None:
    """The backend imports, is built without arguments, and has the methods every backend has."""
    require(
        isinstance(env.backend, EnvBackend),
        rule="a backend has ids(), resolve(game), protocols() and make(spec)",
        seen=f"{type(env.backend).__name__} lacks one of them",
        mend="add what is missing; see wm_core.protocols.EnvBackend",
    )


def check_patterns_cover_the_ids(env: EnvUnderTest) -> None:
    """Each listed id finds its way to this backend."""
    for game in env.backend.ids():
        require(
            any(fnmatchcase(game, pattern) for pattern in env.manifest.patterns),
            rule="the manifest's patterns match every id that the backend lists",
            seen=f"'{game}' matches none of {env.manifest.patterns}",
            mend="add a pattern, e.g. 'my-games/*'",
        )


def check_ids_resolve(env: EnvUnderTest) -> None:
    """Each listed id resolves to a specification of this backend."""
    for game in env.backend.ids():
        spec = env.backend.resolve(game)
        require(
            isinstance(spec, EnvSpec) and spec.backend == env.manifest.name and spec.requested == game,
            rule="resolve(game) returns an EnvSpec with requested=game and the manifest's name as backend",
            seen=f"resolve('{game}') returned {str(spec)[:100]}",
            mend=f"return EnvSpec(requested=game, id=..., backend='{env.manifest.name}', ...)",
        )


def check_unknown_game_is_refused(env: EnvUnderTest) -> None:
    """An id that is not there is the user's mistake."""
    game = f"{env.game}-no-such-game"
    rule, mend = "an unknown id raises UsageError", "raise wm_core.errors.UsageError and name the nearest ids"
    try:
        spec = env.backend.resolve(game)
    except UsageError:
        return
    except Exception as error:
        raise ConformanceError(rule, f"resolve('{game}') raised {type(error).__name__}: {error}", mend) from error
    raise ConformanceError(rule, f"resolve('{game}') returned {str(spec)[:100]}", mend)


def check_protocols_set_fields(env: EnvUnderTest) -> None:
    """Each named protocol is a set of `EnvSpec` fields with values they can have."""
    for name, fields in env.backend.protocols().items():
        try:
            EnvSpec.model_validate({**env.spec.model_dump(), **fields})
        except ValidationError as error:
            raise ConformanceError(
                "a named protocol maps fields of EnvSpec to values",
                f"protocol '{name}': {' '.join(str(error).split())[:150]}",
                "see wm_core.specs.EnvSpec for the fields there are",
            ) from error
