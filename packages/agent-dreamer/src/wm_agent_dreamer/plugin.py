"""What the core knows of the Dreamers before it imports a learning library."""

from __future__ import annotations

from wm_core.specs import AgentManifest, Capability, Demo

_CAPABILITIES: tuple[Capability, ...] = ("evaluate", "train", "imagine")
_DEVICES = ("cpu", "cuda", "mps")

DREAMER_V1 = AgentManifest(
    name="dreamerv1",
    adapter="wm_agent_dreamer.adapter:DreamerV1Adapter",
    summary="Gaussian latents, behaviours learned by gradients through the dynamics",
    paper="arXiv:1912.01603",
    presets=("tiny", "dmc", "atari"),
    capabilities=_CAPABILITIES,
    devices=_DEVICES,
    env_defaults={"atari": {"protocol": "dreamerv1"}, "*": {}},
    demo=Demo(game="wm/Catch-v0", seeds=(0,), episodes=100),
    model="wm_agent_dreamer.model:create_v1",
)

DREAMER_V2 = AgentManifest(
    name="dreamerv2",
    adapter="wm_agent_dreamer.adapter:DreamerV2Adapter",
    summary="categorical latents, KL balancing, REINFORCE in imagination",
    paper="arXiv:2010.02193",
    presets=("tiny", "dmc", "atari"),
    capabilities=_CAPABILITIES,
    devices=_DEVICES,
    env_defaults={"atari": {"protocol": "dreamerv2"}, "*": {}},
    demo=Demo(game="wm/Catch-v0", checkpoint="demo/catch-v2.safetensors", seeds=(0,), episodes=100),
    model="wm_agent_dreamer.model:create_v2",
)

DREAMER_V3 = AgentManifest(
    name="dreamerv3",
    adapter="wm_agent_dreamer.adapter:DreamerV3Adapter",
    summary="one set of hyper-parameters for all domains: symlog, two-hot values, normalised returns",
    paper="arXiv:2301.04104",
    presets=("tiny", "size12m", "2023-s", "size50m", "atari100k"),
    capabilities=_CAPABILITIES,
    devices=_DEVICES,
    env_defaults={"atari": {"protocol": "dreamerv3-atari100k"}, "*": {}},
    demo=Demo(game="wm/Catch-v0", checkpoint="demo/catch-v3.safetensors", seeds=(0,), episodes=100),
    model="wm_agent_dreamer.model:create_v3",
)

MANIFESTS = {each.name: each for each in (DREAMER_V1, DREAMER_V2, DREAMER_V3)}
