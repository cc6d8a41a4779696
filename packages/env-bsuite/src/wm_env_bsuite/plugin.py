"""Manifest of the backend. Imports neither bsuite nor numpy."""

from __future__ import annotations

from wm_core.specs import EnvManifest
from wm_env_bsuite.experiments import EXPERIMENTS

BSUITE = EnvManifest(
    name="bsuite",
    backend="wm_env_bsuite.backend:BsuiteBackend",
    summary="bsuite: 23 experiments of 468 environments, scored over a whole learning run",
    patterns=tuple(f"{name}/*" for name in EXPERIMENTS),
)
