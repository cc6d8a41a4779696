"""The uniformly random agent: the floor that every score is read against."""

from __future__ import annotations

from wm_core.specs import AgentManifest, Demo

RANDOM = AgentManifest(
    name="random",
    adapter="wm_core.random_policy:RandomPolicy",
    summary="uniformly random actions: the floor",
    needs_checkpoint=False,
    demo=Demo(game="wm/Catch-v0"),
)
