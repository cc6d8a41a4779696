"""From a game id and wishes to an `EnvSpec`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from wm_core import registry
from wm_core.envs.checks import ChecksSpec, check_numbers
from wm_core.envs.unknown import UnknownGame, distribution_of, nearest
from wm_core.errors import PluginError, UsageError
from wm_core.protocols import EnvBackend, VectorBackend
from wm_core.specs import EnvSpec

_IDENTITY = ("requested", "id", "backend", "protocol", "modified")
SETTABLE: tuple[str, ...] = tuple(name for name in EnvSpec.model_fields if name not in _IDENTITY)
"""The fields of an `EnvSpec` that a protocol, an agent or a user may set."""


def resolve_env(
    game: str,
    *,
    backend: str | None = None,
    protocol: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> EnvSpec:
    """The specification of a game.

    What wins, first to last: `overrides` (what a user set), the fields of the named `protocol`, `defaults` (what an
    agent was published with: backend name or '*' -> fields, the backend's own before '*'; a `protocol` among them
    names one, whose fields come after the others), and what the id itself means to the backend. The backend is the
    one that claims the id with a glob; '*' claims what nobody else does.

    `vectorization` becomes 'native' where the backend's own vector environment can do all this, unless 'serial' was
    asked for. Raises `UsageError` for an unknown id, backend claim, protocol, field or value.
    """
    name = backend or _claimant(game)
    served = registry.load_backend(name)
    try:
        spec = served.resolve(game)
    except UnknownGame as error:
        raise _unknown(game, backend) from error

    wishes = {**(defaults or {}).get("*", {}), **(defaults or {}).get(name, {})}
    agents_protocol = wishes.pop("protocol", None)
    fields: dict[str, Any] = {}
    for layer in (
        _protocol_fields(agents_protocol, served, name),
        wishes,
        _protocol_fields(protocol, served, name),
        overrides or {},
    ):
        _check_names(layer)
        fields.update(layer)
    label = protocol or agents_protocol
    spec = _validated({**dict(spec), **fields, "protocol": label or "default"})
    named = _protocol_fields(label, served, name)
    modified = tuple(field for field, value in named.items() if getattr(spec, field) != value)
    spec = spec.model_copy(update={"modified": modified})
    if isinstance(served, ChecksSpec):
        served.check(spec)
    else:
        check_numbers(spec)
    return _with_vectorization(spec, served, fields.get("vectorization"))


def _with_vectorization(spec: EnvSpec, served: Any, asked: str | None) -> EnvSpec:
    native = isinstance(served, VectorBackend) and served.expresses(spec)
    if asked == "native" and not native:
        raise UsageError(
            f"the '{spec.backend}' backend has no vector environment that does what {spec.id} is asked for; "
            "set vectorization=serial"
        )
    if asked is None and native:
        return spec.model_copy(update={"vectorization": "native"})
    return spec


def _claimant(game: str) -> str:
    """The backend that claims an id; exact claims and globs before the fallback '*'."""
    claims: dict[str, list[str]] = {"glob": [], "fallback": []}
    for name in registry.names("envs"):
        try:
            patterns = registry.manifest("envs", name).patterns
        except PluginError:  # a broken plugin does not hurt who does not ask for it; `wmbench plugins` shows it
            continue
        if any(pattern != "*" and fnmatchcase(game, pattern) for pattern in patterns):
            claims["glob"].append(name)
        elif "*" in patterns:
            claims["fallback"].append(name)
    claimants = claims["glob"] or claims["fallback"]
    if len(claimants) > 1:
        sources = " and ".join(f"'{name}' ({registry.find('envs', name).source})" for name in claimants)
        raise UsageError(f"'{game}' is claimed by {sources}; choose with --env-backend {claimants[0]}")
    if not claimants:
        raise _unknown(game, None)
    return claimants[0]


def _unknown(game: str, asked: str | None) -> UsageError:
    """What to do about an id that nobody serves, or not the backend that was `asked`."""
    if asked is not None:
        near = nearest(game, registry.load_backend(asked).ids())
        hint = f"did you mean {', '.join(near)}?" if near else "leave out --env-backend to let the id choose"
        return UsageError(f"'{game}' is no id of the '{asked}' backend; {hint}")
    distribution = distribution_of(game)
    if distribution is not None and not _is_installed(distribution):
        return UsageError(f"'{game}' comes with a backend that is not installed: pip install {distribution}")
    ids: list[str] = []
    silent: list[str] = []
    for name in registry.names("envs"):
        try:
            ids += registry.load_backend(name).ids()
        except Exception as failure:  # noqa: BLE001 - a hint must not hide its error, and says who was not asked
            silent.append(f"{name} ({type(failure).__name__})")
    near = nearest(game, ids)
    hint = f"did you mean {', '.join(near)}?" if near else "`wmbench envs --ids` lists all"
    unlisted = f" (could not be asked: {', '.join(silent)})" if silent else ""
    return UsageError(f"no environment has the id '{game}'; {hint}{unlisted}")


def _is_installed(distribution: str) -> bool:
    return any(
        isinstance(plugin, registry.Plugin) and plugin.source.split(" ")[0] == distribution
        for plugin in registry.plugins("envs")
    )


def _protocol_fields(protocol: str | None, served: EnvBackend, name: str) -> Mapping[str, Any]:
    if protocol is None:
        return {}
    known = served.protocols()
    if protocol not in known:
        near = difflib.get_close_matches(protocol, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"the '{name}' backend has no protocol '{protocol}'; {hint}it has: {', '.join(known) or 'none'}"
        )
    return known[protocol]


def _check_names(fields: Mapping[str, Any]) -> None:
    for field in fields:
        if field in SETTABLE:
            continue
        if field == "protocol":
            raise UsageError("'protocol' is not a field to set; name it with --protocol")
        near = difflib.get_close_matches(field, SETTABLE, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no environment setting is called '{field}'; {hint}there are: {', '.join(SETTABLE)}")


def _validated(fields: Mapping[str, Any]) -> EnvSpec:
    try:
        return EnvSpec.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        description = EnvSpec.model_fields[field].description
        meaning = f" ({description})" if description else ""
        raise UsageError(f"{field}={fields[field]!r} is not allowed: {first['msg'].lower()}{meaning}") from error
