"""`create_model`: an agent's networks by name, for people who want the model and not the benchmark."""

from __future__ import annotations

from typing import Any

from wm_core import registry
from wm_core.errors import PluginError


def create_model(name: str, **arguments: Any) -> Any:
    """Build the model behind an agent, e.g. `create_model("iris", action_size=4, device="cpu")`.

    The arguments are the agent's own; see its README. `PluginError` when the agent offers no model.
    """
    manifest = registry.manifest("agents", name)
    if manifest.model is None:
        raise PluginError(f"the agent '{name}' offers no model; only its adapter can be used")
    return registry.load_class(manifest.model, f"the agent '{name}'")(**arguments)
