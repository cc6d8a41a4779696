"""What the core knows of IRIS before it imports a learning library."""

from __future__ import annotations

from wm_core.specs import AgentManifest, Demo

IRIS = AgentManifest(
    name="iris",
    adapter="wm_agent_iris.adapter:IRISAdapter",
    summary="discrete autoencoder, transformer world model, policy trained in imagination",
    paper="arXiv:2209.00588",
    presets=("tiny", "small-gpu", "paper"),
    capabilities=("evaluate", "train", "imagine"),
    devices=("cpu", "cuda", "mps"),
    env_defaults={
        "atari": {"protocol": "iris"},
        "gymnasium": {"observation": "rgb"},
        "bsuite": {"observation": "rgb"},
        "*": {},
    },
    demo=Demo(game="wm/Catch-v0", checkpoint="demo/catch.safetensors", seeds=(0,), episodes=100),
    model="wm_agent_iris.model:create_model",
)
