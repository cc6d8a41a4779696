"""Training, on the built-in game and on any environment of images."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from iris_training import SHORT, Squares, short
from PIL import Image

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.trainer import IRISTrainer
from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError
from wm_torchkit.checkpoint import read_header
from wm_torchkit.nan_guard import NonFiniteError


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a whole short training on Catch."""
    directory = tmp_path_factory.mktemp("trained")
    IRISTrainer("wm/Catch-v0", config=SHORT, directory=directory, seed=3).train()
    return directory


def epochs_with(directory: Path, name: str) -> list[int]:
    with (directory / "metrics.csv").open() as stream:
        return [int(row["epoch"]) for row in csv.DictReader(stream) if row["name"] == name]


def last_checkpoint(directory: Path) -> Path:
    return max(directory.glob("checkpoints/iris-*.safetensors"))


def test_components_start_after_their_epochs(trained: Path) -> None:
    assert epochs_with(trained, "tokenizer/loss") == list(range(1, 9))
    assert epochs_with(trained, "world_model/loss") == list(range(2, 9))
    assert epochs_with(trained, "actor_critic/loss") == list(range(3, 9))


def test_collection_stops_before_training_does(trained: Path) -> None:
    assert read_header(last_checkpoint(trained)).counters == {
        "epoch": 8,
        "updates": 20 + 7 * 11 + 2 * (8 + 7 + 6),
        "env_steps": 20 + 7 * 11,
    }


def test_the_policy_is_evaluated_in_between_and_at_the_end(trained: Path) -> None:
    assert epochs_with(trained, "evaluation/mean_return") == [3, 6, 8]


def test_pictures_of_reconstructions_and_dreams_are_saved(trained: Path) -> None:
    names = sorted(path.name for path in (trained / "pictures").iterdir())
    assert names == [
        f"epoch-00000{epoch}-{what}" for epoch in (4, 8) for what in ("dreams.gif", "dreams.png", "reconstructions.png")
    ]
    with Image.open(trained / "pictures" / "epoch-000008-dreams.gif") as film:
        assert getattr(film, "n_frames", 1) >= 1
    with Image.open(trained / "pictures" / "epoch-000008-reconstructions.png") as image:
        assert np.asarray(image).max() > 0


def test_the_checkpoint_says_where_it_was_trained(trained: Path) -> None:
    header = read_header(last_checkpoint(trained))
    assert (header.env["id"], header.env["image_size"]) == ("wm/Catch-v0", [16, 16])
    assert header.agent_format == IRISAgent.CHECKPOINT_FORMAT


def test_a_checkpoint_is_a_whole_agent(trained: Path) -> None:
    agent = IRISAgent.from_pretrained(last_checkpoint(trained))
    actions, _ = agent.act(torch.zeros(2, 3, 16, 16, dtype=torch.uint8))
    assert agent.config == SHORT
    assert set(actions.tolist()) <= {0, 1, 2}


def test_all_networks_have_learned(trained: Path) -> None:
    agent = IRISAgent.from_pretrained(last_checkpoint(trained))
    trainer = IRISTrainer("wm/Catch-v0", config=SHORT, directory=trained, seed=3)
    fresh = trainer.agent.state_dict()
    for name in ("tokenizer.pre_quant.weight", "world_model.transformer.norm_out.weight", "actor_critic.actor.weight"):
        assert not torch.equal(agent.state_dict()[name], fresh[name]), name


@pytest.mark.parametrize("shape", [(20, 20), (20, 20, 1), (20, 20, 3), (3, 20, 20)])
def test_any_environment_of_images_will_do(tmp_path: Path, shape: tuple[int, ...]) -> None:
    config = short(epochs=3, pictures_every=None)
    trainer = IRISTrainer("squares", config=config, env=lambda: Squares(shape), directory=tmp_path, seed=0)
    path = trainer.train()
    assert read_header(path).env["id"] == "squares"
    assert epochs_with(tmp_path, "evaluation/mean_return") == [3]
    assert {int(a) for a in trainer.replay.episodes.sample(32, 1).actions} <= {0, 1, 2}


def test_a_single_environment_is_trained_in_and_not_evaluated_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        IRISTrainer(config=short(epochs=3, pictures_every=None), env=Squares(), directory=tmp_path).train()
    assert epochs_with(tmp_path, "evaluation/mean_return") == []
    assert "no evaluation during training" in caplog.text


def test_other_shapes_give_the_same_frames_as_grey(tmp_path: Path) -> None:
    """The same weights after training on grey, RGB and channels-first pictures of the same game."""
    weights = []
    for i, shape in enumerate([(20, 20), (20, 20, 3), (3, 20, 20)]):
        config = short(epochs=1, pictures_every=None, evaluate_every=None)
        trainer = IRISTrainer("squares", config=config, env=Squares(shape), directory=tmp_path / str(i))
        trainer.train()
        weights.append(trainer.agent.tokenizer.pre_quant.weight.detach())
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])


def test_a_game_can_be_given_as_a_specification(tmp_path: Path) -> None:
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": (24, 24)})
    trainer = IRISTrainer(spec, config=short(epochs=1, pictures_every=None), directory=tmp_path)
    assert read_header(trainer.train()).env["image_size"] == [24, 24]


def test_environment_steps_are_counted_against_the_limit(tmp_path: Path) -> None:
    config = short(max_env_steps=35, pictures_every=None, evaluate_every=None)
    path = IRISTrainer("wm/Catch-v0", config=config, directory=tmp_path).train()
    assert read_header(path).counters["env_steps"] == 35
    assert read_header(path).counters["epoch"] == 2


def test_a_nan_stops_the_training_and_names_the_tensor(tmp_path: Path) -> None:
    trainer = IRISTrainer("wm/Catch-v0", config=short(), directory=tmp_path)
    with torch.no_grad():
        trainer.agent.world_model.transformer.norm_out.weight[0] = float("nan")
    with pytest.raises(NonFiniteError, match="world model is not finite: 'loss'"):
        trainer.train()


def test_continuous_actions_are_refused(tmp_path: Path) -> None:
    class Continuous(Squares):
        def __init__(self) -> None:
            super().__init__()
            self.action_space: Any = gymnasium.spaces.Box(-1, 1, (2,))

    with pytest.raises(UsageError, match="discrete actions"):
        IRISTrainer(config=SHORT, env=Continuous(), directory=tmp_path)


def test_neither_game_nor_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give the trainer a game"):
        IRISTrainer(config=SHORT, directory=tmp_path)


def test_it_trains_in_bfloat16(tmp_path: Path) -> None:
    compute = SHORT.compute.model_copy(update={"precision": "bfloat16"})
    config = short(epochs=3, pictures_every=None).model_copy(update={"compute": compute})
    agent = IRISAgent.from_pretrained(IRISTrainer("wm/Catch-v0", config=config, directory=tmp_path).train())
    assert agent.config.compute.precision == "bfloat16"
    assert {parameter.dtype for parameter in agent.parameters()} == {torch.float32}
    assert epochs_with(tmp_path, "actor_critic/loss") == [3]


def test_parts_of_a_batch_add_up_to_the_whole(tmp_path: Path) -> None:
    """Frames are never padded, so the tokenizer's gradients in two halves are those of the whole batch."""
    norms = []
    for part in (None, 4):
        schedule = SHORT.training.tokenizer.model_copy(update={"micro_batch_size": part})
        tokenizer = SHORT.tokenizer.model_copy(update={"codebook": "gradient"})
        config = short(tokenizer=schedule, epochs=1, pictures_every=None, evaluate_every=None)
        config = config.model_copy(update={"tokenizer": tokenizer})
        trainer = IRISTrainer("wm/Catch-v0", config=config, directory=tmp_path / str(part), seed=1)
        for _ in range(20):
            trainer._collector.step()
        learning, _ = trainer._components["tokenizer"]
        frames = trainer.replay.tokenizer_batch(8)
        halves = iter([frames] if part is None else [frames[:4], frames[4:]])
        trainer.replay.tokenizer_batch = lambda size, halves=halves: next(halves)  # type: ignore[method-assign]
        norms.append(float(learning.update()["gradient_norm"]))
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
