"""Named configurations."""

from __future__ import annotations

from wm_agent_genie.config import (
    ComputeConfig,
    DynamicsConfig,
    GenieConfig,
    LatentActionConfig,
    PolicyConfig,
    QuantizerConfig,
    STTransformerConfig,
    TokenizerConfig,
)
from wm_agent_genie.config_training import ComponentSchedule, TrainingConfig
from wm_core.errors import UsageError

PAPER = GenieConfig()
"""The full model, 10.7B parameters. Section 2, Appendix C."""

_LADDER = {
    "41m": (18, 8, 512, 64),
    "96m": (16, 16, 768, 64),
    "192m": (20, 18, 1024, 64),
    "404m": (21, 12, 1536, 128),
    "811m": (20, 20, 2048, 128),
    "1.6b": (28, 22, 2560, 128),
    "2.7b": (36, 22, 3072, 128),
}
"""Layers, heads, d and size of a head of the dynamics models of the scaling study. Table 10."""


def _scaled(layers: int, heads: int, d: int, head_dim: int) -> GenieConfig:
    transformer = STTransformerConfig(layers=layers, embedding_dim=d, heads=heads, head_dim=head_dim, qk_norm=True)
    return GenieConfig(dynamics=DynamicsConfig(transformer=transformer))


_COINRUN = STTransformerConfig(layers=8, embedding_dim=512, heads=8)

_COINRUN_JOINT = ComponentSchedule(
    start_after_epoch=300,
    stop_after_epoch=500,
    steps_per_epoch=1000,
    batch_size=36,
    learning_rate=3e-5,
    final_learning_rate=3e-6,
    warmup_steps=5000,
)

COINRUN = GenieConfig(
    image_size=(64, 64),
    tokenizer=TokenizerConfig(encoder=_COINRUN, decoder=_COINRUN),
    latent_actions=LatentActionConfig(encoder=_COINRUN, decoder=_COINRUN, quantizer=QuantizerConfig(codes=6)),
    dynamics=DynamicsConfig(
        transformer=STTransformerConfig(layers=12, embedding_dim=512, heads=8, qk_norm=True), temperature=1.0
    ),
    training=TrainingConfig(
        epochs=550,
        split_by="level",
        tokenizer=ComponentSchedule(
            start_after_epoch=0,
            stop_after_epoch=300,
            steps_per_epoch=1000,
            batch_size=48,
            learning_rate=3e-4,
            final_learning_rate=3e-4,
            warmup_steps=10_000,
        ),
        latent_actions=_COINRUN_JOINT,
        dynamics=_COINRUN_JOINT,
        policy=ComponentSchedule(
            start_after_epoch=500,
            stop_after_epoch=550,
            steps_per_epoch=1000,
            batch_size=16,
            learning_rate=3e-5,
            final_learning_rate=3e-6,
            warmup_steps=5000,
            adam_betas=(0.9, 0.96),
        ),
    ),
    compute=ComputeConfig(precision="bfloat16"),
)
"""The case study on one accelerator. Appendix F."""

_SMALL = STTransformerConfig(layers=2, embedding_dim=64, heads=4)

TINY = GenieConfig(
    image_size=(20, 20),
    clip_frames=10,
    tokenizer=TokenizerConfig(
        patch_size=4,
        encoder=STTransformerConfig(layers=1, embedding_dim=32, heads=2),
        decoder=STTransformerConfig(layers=1, embedding_dim=32, heads=2),
        quantizer=QuantizerConfig(codes=16, code_dim=8, ema_decay=0.97),
    ),
    latent_actions=LatentActionConfig(
        patch_size=10,
        encoder=_SMALL,
        decoder=_SMALL,
        quantizer=QuantizerConfig(codes=6, code_dim=8, commitment_weight=0.02, batch_norm=False),
        encoder_sees="changes",
    ),
    dynamics=DynamicsConfig(
        transformer=STTransformerConfig(layers=2, embedding_dim=64, heads=4, qk_norm=True),
        steps=6,
        temperature=0.0,
    ),
    policy=PolicyConfig(patch_size=10, transformer=_SMALL, hidden_dim=64, context=2, temperature=0.0),
    training=TrainingConfig(
        video_steps=4500,
        expert_steps=2250,
        held_out=0.1,
        hide_places=True,
        epochs=21,
        tokenizer=ComponentSchedule(
            start_after_epoch=0,
            stop_after_epoch=4,
            steps_per_epoch=100,
            batch_size=16,
            learning_rate=3e-3,
            final_learning_rate=3e-4,
            warmup_steps=20,
            adam_betas=(0.9, 0.99),
        ),
        latent_actions=ComponentSchedule(
            start_after_epoch=0,
            stop_after_epoch=12,
            steps_per_epoch=100,
            batch_size=16,
            learning_rate=2e-3,
            final_learning_rate=2e-4,
            warmup_steps=50,
            adam_betas=(0.9, 0.99),
        ),
        dynamics=ComponentSchedule(
            start_after_epoch=11,
            stop_after_epoch=17,
            steps_per_epoch=100,
            batch_size=16,
            learning_rate=2e-3,
            final_learning_rate=2e-4,
            warmup_steps=50,
            adam_betas=(0.9, 0.99),
        ),
        policy=ComponentSchedule(
            start_after_epoch=17,
            stop_after_epoch=21,
            steps_per_epoch=100,
            batch_size=64,
            learning_rate=2e-3,
            final_learning_rate=2e-4,
            warmup_steps=20,
            adam_betas=(0.9, 0.96),
        ),
        evaluate_every=21,
        evaluation_clips=64,
        pictures_every=10,
        checkpoint_every=3,
    ),
)
"""Learns Catch on two CPU cores."""

PRESETS = {
    "tiny": TINY,
    "coinrun": COINRUN,
    **{f"paper-{name}": _scaled(*sizes) for name, sizes in _LADDER.items()},
    "paper": PAPER,
}


def default_preset(backend: str) -> str:
    """The preset where none is named: `tiny` on the built-in Catch, which is for trying out; else `coinrun`."""
    return "tiny" if backend == "catch" else "coinrun"


def preset(name: str) -> GenieConfig:
    """The configuration of a preset's name; `UsageError` for any other."""
    if name not in PRESETS:
        raise UsageError(f"genie has no preset '{name}'; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
