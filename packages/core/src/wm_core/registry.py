"""Names -> plugins. Names come from installed metadata; a plugin is imported when it is used, not before.

Groups of entry points: `wm.agents`, `wm.envs`, `wm.suites`, `wm.executors`, `wm.compute`, `wm.hooks`,
`wm.commands`. One entry point is one name. `register` does the same in this process, and `load_file` takes an
unpublished plugin from a file.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any, Literal

from wm_core.errors import PluginError

Kind = Literal["agents", "envs", "suites", "executors", "compute", "hooks", "commands"]
KINDS: tuple[Kind, ...] = ("agents", "envs", "suites", "executors", "compute", "hooks", "commands")

KNOWN_DISTRIBUTIONS = {
    "iris": "wm-agent-iris",
    "diamond": "wm-agent-diamond",
    "dreamerv1": "wm-agent-dreamer",
    "dreamerv2": "wm-agent-dreamer",
    "dreamerv3": "wm-agent-dreamer",
    "genie": "wm-agent-genie",
    "bsuite": "wm-env-bsuite",
    "minerl": "wm-env-minecraft",
    "minedojo": "wm-env-minecraft",
    "crafter": "wm-env-minecraft",
}
"""Where names of ours live, so that an error can say what to install."""


@dataclass(frozen=True)
class Plugin:
    """One name and where it comes from. `load` imports it."""

    kind: Kind
    name: str
    source: str
    """The distribution and its version ('wm-agent-iris 0.1.0'), or the file or call that registered it."""
    target: str
    load: Callable[[], Any]


_registered: dict[tuple[Kind, str], Plugin] = {}


def register(plugin: Any, kind: Kind = "agents", *, name: str | None = None, source: str = "register()") -> None:
    """Make a manifest (or an executor class, with `name`) known in this process. The last registration wins."""
    key = name or getattr(plugin, "name", None)
    if not isinstance(key, str) or not key:
        raise PluginError(f"register({plugin!r}) needs a name: pass a manifest, or name='...'")
    _registered[kind, key] = Plugin(kind, key, source, repr(plugin), lambda: plugin)


def unregister(name: str, kind: Kind = "agents") -> None:
    """Forget what `register` made known."""
    _registered.pop((kind, name), None)


@cache
def _installed() -> dict[tuple[str, str], list[tuple[EntryPoint, str]]]:
    found: dict[tuple[str, str], list[tuple[EntryPoint, str]]] = {}
    seen: set[str] = set()
    for distribution in distributions():
        identity = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if identity in seen:
            continue
        seen.add(identity)
        for entry_point in distribution.entry_points:
            if entry_point.group.startswith("wm."):
                owner = f"{identity} {distribution.version}"
                found.setdefault((entry_point.group[3:], entry_point.name), []).append((entry_point, owner))
    return found


def rescan() -> None:
    """Look at the installed distributions again."""
    _installed.cache_clear()


def names(kind: Kind) -> list[str]:
    """All names of a kind, sorted. Imports nothing."""
    return sorted({name for k, name in _installed() if k == kind} | {n for k, n in _registered if k == kind})


def find(kind: Kind, name: str) -> Plugin:
    """The plugin of that name, not yet imported; `PluginError` when there is none or more than one."""
    if (kind, name) in _registered:
        return _registered[kind, name]
    owners = _installed().get((kind, name), [])
    if len(owners) > 1:
        both = " and ".join(owner for _, owner in owners)
        raise PluginError(f"two distributions claim the {kind[:-1]} '{name}': {both}; uninstall one of them")
    if not owners:
        raise PluginError(_unknown(kind, name))
    entry_point, owner = owners[0]
    return Plugin(kind, name, owner, entry_point.value, entry_point.load)


def plugins(kind: Kind) -> Iterator[Plugin | PluginError]:
    """Every plugin of a kind, not yet imported; an ambiguous name yields its error in its place."""
    for name in names(kind):
        try:
            yield find(kind, name)
        except PluginError as error:
            yield error


def load(kind: Kind, name: str) -> Any:
    """Import a plugin: a manifest for agents and environments, a `Suite`, a class for executors."""
    plugin = find(kind, name)
    try:
        loaded = plugin.load()
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"'{name}' from {plugin.source} failed to import ({plugin.target}): {_cause(error)}; "
            "reinstall it, or report this to its authors"
        ) from error
    return _checked(plugin, loaded)


def manifest(kind: Literal["agents", "envs", "suites"], name: str) -> Any:
    """The `AgentManifest`, `EnvManifest` or `Suite` of that name."""
    return load(kind, name)


def load_class(reference: str, source: str) -> Any:
    """Import 'module:Class' on behalf of the plugin `source`; 'file.py:Class' is imported from the file."""
    module_name, _, attribute = reference.rpartition(":")
    if not module_name or not attribute:
        raise PluginError(f"{source} names '{reference}'; expected 'module:NAME' or 'file.py:NAME'")
    try:
        module = _import_file(Path(module_name)) if module_name.endswith(".py") else import_module(module_name)
        target: Any = module
        for part in attribute.split("."):
            target = getattr(target, part)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{source} names '{reference}', which failed to import: {_cause(error)}") from error
    return target


def load_adapter(name: str) -> Any:
    """The adapter class of an agent."""
    plugin = find("agents", name)
    return load_class(load("agents", name).adapter, f"the agent '{name}' from {plugin.source}")


@cache
def load_backend(name: str) -> Any:
    """The environment backend of that name, built once."""
    plugin = find("envs", name)
    return load_class(load("envs", name).backend, f"the environment backend '{name}' from {plugin.source}")()


def load_file(reference: str) -> Plugin:
    """Register an unpublished plugin, 'path/to/file.py:NAME' or 'package.module:NAME', NAME being a manifest."""
    loaded = load_class(reference, "--plugin")
    kind = next((kind for kind, manifest in _manifests().items() if isinstance(loaded, manifest)), None)
    if kind is None:
        kind_of = "class" if isinstance(loaded, type) else type(loaded).__name__
        raise PluginError(
            f"--plugin {reference} is a {kind_of}; name an AgentManifest, EnvManifest or Suite in that file"
        )
    register(
        _checked(Plugin(kind, loaded.name, reference, reference, lambda: loaded), loaded),
        kind,
        source=reference,
    )
    return find(kind, loaded.name)


def _import_file(path: Path) -> Any:
    path = path.resolve()
    name = f"_wm_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _manifests() -> dict[Kind, type[Any]]:
    from wm_core.specs import AgentManifest, EnvManifest, Suite

    return {"agents": AgentManifest, "envs": EnvManifest, "suites": Suite}


def _checked(plugin: Plugin, loaded: Any) -> Any:
    from wm_core.specs import API_VERSION

    expected = _manifests().get(plugin.kind)
    if expected is None:
        return loaded
    if not isinstance(loaded, expected):
        raise PluginError(
            f"'{plugin.name}' from {plugin.source} is a {type(loaded).__name__}; "
            f"its entry point must name a wm_core.{expected.__name__}"
        )
    if loaded.name != plugin.name:
        raise PluginError(f"'{plugin.name}' from {plugin.source} calls itself '{loaded.name}'; the two must agree")
    if loaded.api_version != API_VERSION:
        older = "upgrade it" if loaded.api_version < API_VERSION else "upgrade wm-core"
        raise PluginError(
            f"'{plugin.name}' from {plugin.source} speaks plugin API {loaded.api_version}, "
            f"this wm-core speaks {API_VERSION}; {older}"
        )
    return loaded


def _unknown(kind: Kind, name: str) -> str:
    installed = names(kind)
    near = difflib.get_close_matches(name, installed, n=3)
    message = f"no {kind[:-1]} named '{name}'"
    if near:
        message += f"; did you mean {', '.join(near)}?"
    elif name in KNOWN_DISTRIBUTIONS:
        message += f"; it comes with `pip install {KNOWN_DISTRIBUTIONS[name]}`"
    return f"{message} (installed: {', '.join(installed) or 'none'})"


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip() or 'no message'}".replace("\n", " ")
