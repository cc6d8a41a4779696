"""wm-core: protocols, registry, runner, metrics and reports of wmbench. Imports no learning library."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm_core.adapter import PolicyAdapter as PolicyAdapter
    from wm_core.models import create_model as create_model
    from wm_core.registry import register as register
    from wm_core.runner import BenchmarkRunner as BenchmarkRunner
    from wm_core.specs import AgentManifest as AgentManifest
    from wm_core.specs import EnvManifest as EnvManifest
    from wm_core.specs import EnvSpec as EnvSpec
    from wm_core.specs import Suite as Suite

_PUBLIC = {
    "AgentManifest": "wm_core.specs",
    "BenchmarkRunner": "wm_core.runner",
    "EnvManifest": "wm_core.specs",
    "EnvSpec": "wm_core.specs",
    "PolicyAdapter": "wm_core.adapter",
    "Suite": "wm_core.specs",
    "create_model": "wm_core.models",
    "register": "wm_core.registry",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that `import wm_core` stays instant (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wm_core' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
