"""A training of a few seconds with everything in it; `python genie_training.py DIRECTORY` prints its digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wm_agent_genie.components import LearningComponent
from wm_agent_genie.config import (
    DynamicsConfig,
    GenieConfig,
    LatentActionConfig,
    PolicyConfig,
    QuantizerConfig,
    STTransformerConfig,
    TokenizerConfig,
)
from wm_agent_genie.config_training import ComponentSchedule, TrainingConfig
from wm_agent_genie.trainer import GenieTrainer
from wm_core.envs.resolve import resolve_env
from wm_core.specs import EnvSpec

_SMALL = STTransformerConfig(layers=1, embedding_dim=8, heads=2)


def _schedule(start: int, stop: int, batch: int = 4) -> ComponentSchedule:
    return ComponentSchedule(
        start_after_epoch=start,
        stop_after_epoch=stop,
        steps_per_epoch=2,
        batch_size=batch,
        learning_rate=3e-3,
        final_learning_rate=3e-4,
        warmup_steps=2,
    )


SHORT = GenieConfig(
    image_size=(10, 10),
    clip_frames=5,
    tokenizer=TokenizerConfig(
        patch_size=5, encoder=_SMALL, decoder=_SMALL, quantizer=QuantizerConfig(codes=8, code_dim=4)
    ),
    latent_actions=LatentActionConfig(
        patch_size=5, encoder=_SMALL, decoder=_SMALL, quantizer=QuantizerConfig(codes=3, code_dim=4)
    ),
    dynamics=DynamicsConfig(transformer=_SMALL, steps=2),
    policy=PolicyConfig(patch_size=5, transformer=_SMALL, hidden_dim=8, context=2),
    training=TrainingConfig(
        video_steps=180,
        expert_steps=180,
        held_out=0.2,
        labels=40,
        epochs=7,
        tokenizer=_schedule(0, 3),
        latent_actions=_schedule(0, 4),
        dynamics=_schedule(2, 5),
        policy=_schedule(5, 7),
        evaluate_every=3,
        evaluation_clips=4,
        pictures_every=4,
        checkpoint_every=2,
    ),
)


def short(**training: Any) -> GenieConfig:
    """`SHORT` with other training values."""
    return SHORT.model_copy(update={"training": SHORT.training.model_copy(update=training)})


def catch() -> EnvSpec:
    """Catch as `SHORT` sees it."""
    return resolve_env("wm/Catch-v0", overrides={"image_size": SHORT.image_size})


def trainer(directory: Path | str, config: GenieConfig = SHORT, seed: int = 3) -> GenieTrainer:
    return GenieTrainer(catch(), real_actions=3, config=config, directory=directory, seed=seed)


def die_at(update: int, die: Callable[[], None]) -> None:
    """From now on, `die` is called in this process's `update`-th update of any component."""
    seen, whole = 0, LearningComponent.update

    def dying(self: LearningComponent) -> dict[str, Tensor]:
        nonlocal seen
        seen += 1
        if seen == update:
            die()
        return whole(self)

    LearningComponent.update = dying  # type: ignore[method-assign]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(digest(trainer(sys.argv[1]).train()))
