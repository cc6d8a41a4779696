"""What the core knows of Genie before it imports a learning library."""

from __future__ import annotations

from wm_core.specs import AgentManifest, Demo

GENIE = AgentManifest(
    name="genie",
    adapter="wm_agent_genie.adapter:GenieAdapter",
    summary="latent actions and a world model from video; plays by cloning an expert's latent actions",
    paper="arXiv:2402.15391",
    presets=(
        "tiny",
        "coinrun",
        "paper-41m",
        "paper-96m",
        "paper-192m",
        "paper-404m",
        "paper-811m",
        "paper-1.6b",
        "paper-2.7b",
        "paper",
    ),
    capabilities=("evaluate", "train", "imagine"),
    devices=("cpu", "cuda", "mps"),
    env_defaults={
        "atari": {"observation": "rgb"},
        "gymnasium": {"observation": "rgb"},
        "bsuite": {"observation": "rgb"},
        "*": {},
    },
    demo=Demo(game="wm/Catch-v0", checkpoint="demo/catch.safetensors", seeds=(0,), episodes=100),
    model="wm_agent_genie.model:create_model",
)
