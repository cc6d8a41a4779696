"""What the manifests of agents and of environments have in common."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Literal

from wm_core import registry
from wm_core.specs import API_VERSION, AgentManifest, EnvManifest
from wm_core.testing.faults import require

HEAVY = ("torch", "tensorflow", "jax", "numpy", "gymnasium", "cv2")
"""What the import of a manifest must not pull in, so that listings and `--help` stay instant."""

_IMPORT_ALONE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from wm_core.registry import load_class
load_class(sys.argv[2], "the manifest")
print(json.dumps([name for name in json.loads(sys.argv[3]) if name in sys.modules]))
"""
_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")

Manifest = AgentManifest | EnvManifest


def kind_of(manifest: Manifest) -> Literal["agents", "envs"]:
    """The registry's group a manifest belongs to."""
    return "agents" if isinstance(manifest, AgentManifest) else "envs"


def implementation_of(manifest: Manifest) -> str:
    """'module:Class' of the adapter or backend."""
    return manifest.adapter if isinstance(manifest, AgentManifest) else manifest.backend


@contextmanager
def known(manifest: Manifest) -> Iterator[None]:
    """Let the registry know a manifest, installed or not, for as long as the block lasts."""
    kind = kind_of(manifest)
    if manifest.name in registry.names(kind) and registry.manifest(kind, manifest.name) == manifest:
        yield
        return
    registry.register(manifest, kind, source="the conformance kit")
    registry.load_backend.cache_clear()
    try:
        yield
    finally:
        registry.unregister(manifest.name, kind)
        registry.load_backend.cache_clear()


def require_name(manifest: Manifest) -> None:
    """The name can be typed on a command line and be part of a file's name."""
    require(
        _NAME.fullmatch(manifest.name) is not None,
        rule="a plugin's name is lower-case letters and digits, joined by '.', '_' or '-'",
        seen=f"the manifest is named '{manifest.name}'",
        mend="rename it, in the manifest and in the entry point",
    )


def require_api_version(manifest: Manifest) -> None:
    """The manifest speaks this core's contract."""
    require(
        manifest.api_version == API_VERSION,
        rule=f"this wm-core speaks plugin API {API_VERSION}",
        seen=f"the manifest says api_version={manifest.api_version}",
        mend="leave api_version out, or check with the wm-core it was written for",
    )


def require_summary(manifest: Manifest) -> None:
    """Listings have a line to show."""
    require(
        len(manifest.summary.strip().splitlines()) == 1,
        rule="a manifest has a summary of one line, which `wmbench plugins` lists",
        seen=f"summary={manifest.summary!r}",
        mend="say in one line what it is",
    )


def require_light(manifest: Manifest) -> None:
    """Importing the manifest's module imports nothing heavy; tried in a fresh interpreter."""
    home = _home(manifest)
    command = [sys.executable, "-c", _IMPORT_ALONE, json.dumps(sys.path), home, json.dumps(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    require(
        done.returncode == 0,
        rule="a manifest can be imported on its own",
        seen=f"importing {home} ended with: {''.join(done.stderr.splitlines()[-1:])}",
        mend="let its module import wm_core.specs and nothing else",
    )
    pulled = json.loads(done.stdout.splitlines()[-1])
    require(
        not pulled,
        rule="importing a manifest imports no heavy library, so that listings stay instant",
        seen=f"importing {home} pulled in {', '.join(pulled)}",
        mend="keep the manifest in a module of its own, and its package's __init__ free of imports",
    )


def _home(manifest: Manifest) -> str:
    """'module:NAME' or 'file.py:NAME' under which the manifest can be imported."""
    kind = kind_of(manifest)
    if manifest.name in registry.names(kind) and registry.manifest(kind, manifest.name) == manifest:
        target = registry.find(kind, manifest.name).target
        if re.fullmatch(r"[^\s()]+:\w+", target):
            return target
    package = implementation_of(manifest).partition(":")[0].partition(".")[0]
    homes = list(_modules_with(manifest))
    homes.sort(key=lambda home: home[0].__name__.partition(".")[0] != package)
    require(
        bool(homes),
        rule="a manifest is a name of some module, so that an entry point can reach it",
        seen=f"the manifest '{manifest.name}' is bound to no module's name",
        mend="write NAME = AgentManifest(...) or EnvManifest(...) at the top level of a module",
    )
    module, attribute = homes[0]
    if module.__name__.partition(".")[0] == package:
        return f"{module.__name__}:{attribute}"
    return f"{module.__file__}:{attribute}"


def _modules_with(manifest: Manifest) -> Iterator[tuple[ModuleType, str]]:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and getattr(module, "__file__", None):
            for attribute, value in list(vars(module).items()):
                if value is manifest:
                    yield module, attribute
