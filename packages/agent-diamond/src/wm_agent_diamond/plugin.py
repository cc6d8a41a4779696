"""What the core knows of DIAMOND before it imports a learning library."""

from __future__ import annotations

from wm_core.specs import AgentManifest, Demo

DIAMOND = AgentManifest(
    name="diamond",
    adapter="wm_agent_diamond.adapter:DiamondAdapter",
    summary="diffusion world model in pixels, policy trained in its dreams",
    paper="arXiv:2405.12399",
    presets=("tiny", "small-gpu", "paper"),
    capabilities=("evaluate", "train", "imagine"),
    devices=("cpu", "cuda", "mps"),
    env_defaults={"atari": {"protocol": "diamond"}, "gymnasium": {"observation": "rgb"}, "*": {}},
    demo=Demo(game="wm/Catch-v0", checkpoint="demo/catch.safetensors", seeds=(0,), episodes=100),
    model="wm_agent_diamond.model:create_model",
)
