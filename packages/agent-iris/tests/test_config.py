from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from wm_agent_iris.config import ComponentSchedule, IRISConfig, TokenizerConfig, WorldModelConfig
from wm_agent_iris.plugin import IRIS
from wm_agent_iris.presets import PRESETS, preset
from wm_core.errors import UsageError

C = IRISConfig()

APPENDIX_A = {
    "Table 2: frame height and width": (C.tokenizer.image_size, 64),
    "Table 2: layers": (C.tokenizer.downsamplings, 4),
    "Table 2: residual blocks per layer": (C.tokenizer.residual_blocks, 2),
    "Table 2: channels in convolutions": (C.tokenizer.channels, 64),
    "Table 2: self-attention layers at resolution": (C.tokenizer.attention_resolutions, (8, 16)),
    "Table 3: vocabulary size N": (C.tokenizer.vocabulary_size, 512),
    "Table 3: tokens per frame K": (C.tokenizer.tokens_per_frame, 16),
    "Table 3: token embedding dimension d": (C.tokenizer.embedding_dim, 512),
    "Table 4: timesteps L": (C.world_model.timesteps, 20),
    "Table 4: embedding dimension D": (C.world_model.embedding_dim, 256),
    "Table 4: layers M": (C.world_model.layers, 10),
    "Table 4: attention heads": (C.world_model.heads, 4),
    "Table 4: weight decay": (C.training.world_model.weight_decay, 0.01),
    "Table 4: embedding dropout": (C.world_model.embedding_dropout, 0.1),
    "Table 4: attention dropout": (C.world_model.attention_dropout, 0.1),
    "Table 4: residual dropout": (C.world_model.residual_dropout, 0.1),
    "Table 5: epochs": (C.training.epochs, 600),
    "Table 5: collection epochs": (C.training.collection_epochs, 500),
    "Table 5: environment steps per epoch": (C.training.env_steps_per_epoch, 200),
    "Table 5: collection epsilon-greedy": (C.training.epsilon, 0.01),
    "Table 5: eval sampling temperature": (C.imagination.evaluation_temperature, 0.5),
    "Table 5: start autoencoder after epochs": (C.training.tokenizer.start_after_epoch, 5),
    "Table 5: start transformer after epochs": (C.training.world_model.start_after_epoch, 25),
    "Table 5: start actor-critic after epochs": (C.training.actor_critic.start_after_epoch, 50),
    "Table 5: autoencoder batch size": (C.training.tokenizer.batch_size, 256),
    "Table 5: transformer batch size": (C.training.world_model.batch_size, 64),
    "Table 5: actor-critic batch size": (C.training.actor_critic.batch_size, 64),
    "Table 5: training steps per epoch": (
        {s.steps_per_epoch for s in (C.training.tokenizer, C.training.world_model, C.training.actor_critic)},
        {200},
    ),
    "Table 5: learning rate": (
        {s.learning_rate for s in (C.training.tokenizer, C.training.world_model, C.training.actor_critic)},
        {1e-4},
    ),
    "Table 5: Adam beta 1 and 2": (
        {s.adam_betas for s in (C.training.tokenizer, C.training.world_model, C.training.actor_critic)},
        {(0.9, 0.999)},
    ),
    "Table 5: maximum gradient norm": (
        {s.max_grad_norm for s in (C.training.tokenizer, C.training.world_model, C.training.actor_critic)},
        {10.0},
    ),
    "Table 6: imagination horizon H": (C.imagination.horizon, 20),
    "Table 6: discount gamma": (C.imagination.gamma, 0.995),
    "Table 6: lambda": (C.imagination.lambda_, 0.95),
    "Table 6: eta": (C.imagination.entropy_weight, 0.001),
    "published: burn-in": (C.imagination.burn_in, 20),
    "published: weight decay outside the world model": (
        (C.training.tokenizer.weight_decay, C.training.actor_critic.weight_decay),
        (0.0, 0.0),
    ),
}


@pytest.mark.parametrize("entry", APPENDIX_A)
def test_default_is_the_papers(entry: str) -> None:
    ours, papers = APPENDIX_A[entry]
    assert ours == papers


def test_the_small_gpu_preset_changes_no_value_of_the_method() -> None:
    def method(config: IRISConfig) -> dict[str, object]:
        values = config.model_dump(exclude={"compute"})
        for component in ("tokenizer", "world_model", "actor_critic"):
            del values["training"][component]["micro_batch_size"]
        return values

    assert method(preset("small-gpu")) == method(preset("paper"))


def test_every_preset_of_the_manifest_exists() -> None:
    assert set(IRIS.presets) == set(PRESETS)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no preset 'huge'; choose one of tiny, small-gpu, paper"):
        preset("huge")


@pytest.mark.parametrize("multipliers", [(1, 1, 1), (1, 2, 4, 8)])
def test_strided_levels_all_halve_the_resolution(multipliers: tuple[int, ...]) -> None:
    config = TokenizerConfig(architecture="strided", channel_multipliers=multipliers)
    assert config.grid_size == 64 // 2 ** len(multipliers)


def test_an_image_that_does_not_divide_is_refused() -> None:
    with pytest.raises(ValidationError, match="use a multiple of 16"):
        TokenizerConfig(image_size=40)


def test_cross_entropy_without_sign_is_refused() -> None:
    with pytest.raises(ValidationError, match="set reward_transform='sign'"):
        WorldModelConfig(reward_transform="none")


def test_micro_batches_must_fill_the_batch() -> None:
    with pytest.raises(ValidationError, match="no multiple"):
        ComponentSchedule(start_after_epoch=0, batch_size=64, micro_batch_size=24)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        IRISConfig.model_validate({"horizon": 3})


def test_the_manifest_is_read_without_torch() -> None:
    code = "import sys, wm_agent_iris.plugin, wm_agent_iris; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
