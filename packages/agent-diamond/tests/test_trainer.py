"""Training: on the built-in game, on any environment of images, on own episodes."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from diamond_training import SHORT, Squares, short, write_episodes
from PIL import Image

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.components import parameter_groups
from wm_agent_diamond.trainer import DiamondTrainer
from wm_core.envs.resolve import resolve_env
from wm_core.errors import UsageError
from wm_torchkit.checkpoint import read_header
from wm_torchkit.nan_guard import NonFiniteError

QUICK: dict[str, Any] = {"max_epochs": 3, "pictures_every": None, "collection__min_rare_rewards": 0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a whole short training on Catch."""
    directory = tmp_path_factory.mktemp("trained")
    DiamondTrainer("wm/Catch-v0", config=SHORT, directory=directory, seed=3).train()
    return directory


def epochs_with(directory: Path, name: str) -> list[int]:
    with (directory / "metrics.csv").open() as stream:
        return [int(row["epoch"]) for row in csv.DictReader(stream) if row["name"] == name]


def last_checkpoint(directory: Path) -> Path:
    return max(directory.glob("checkpoints/diamond-*.safetensors"))


def test_components_train_once_the_initial_collection_is_over(trained: Path) -> None:
    """On Catch a step in nine pays, so four rare rewards take more than the 20 steps of the first epoch."""
    for name in ("denoiser", "rew_end_model", "actor_critic"):
        epochs = epochs_with(trained, f"{name}/loss")
        assert epochs == list(range(epochs[0], 8))
        assert 2 <= epochs[0] <= 3


def test_collection_stops_before_training_does(trained: Path) -> None:
    counters = read_header(last_checkpoint(trained)).counters
    assert (counters["epoch"], counters["env_steps"]) == (7, 86)
    first = epochs_with(trained, "denoiser/loss")[0]
    assert counters["updates"] == 86 + (3 + 2 + 1) + 6 * (7 - first)


def test_the_policy_is_evaluated_in_between_and_at_the_end(trained: Path) -> None:
    assert epochs_with(trained, "evaluation/mean_return") == [3, 6, 7]


def test_the_last_evaluation_has_episodes_of_its_own_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def rollout(policy: Any, lanes: Any, seed: int, episodes: range) -> list[Any]:
        played.append(len(episodes))
        return [type("Played", (), {"episode_return": 1.0})] * len(episodes)

    monkeypatch.setattr("wm_agent_diamond.trainer.rollout", rollout)
    trainer = DiamondTrainer("wm/Catch-v0", config=SHORT, directory=tmp_path)
    assert [trainer.evaluate(epoch)["mean_return"] for epoch in (3, 7)] == [1.0, 1.0]
    assert played == [2, 3]


def test_pictures_of_predictions_and_dreams_are_saved(trained: Path) -> None:
    names = sorted(path.name for path in (trained / "pictures").iterdir())
    assert names == [
        f"epoch-00000{epoch}-{what}" for epoch in (4, 7) for what in ("dreams.gif", "dreams.png", "predictions.png")
    ]
    with Image.open(trained / "pictures" / "epoch-000007-dreams.gif") as film:
        assert getattr(film, "n_frames", 1) == SHORT.imagination.horizon + 1
    with Image.open(trained / "pictures" / "epoch-000007-predictions.png") as image:
        assert np.asarray(image).max() > 0


def test_the_checkpoint_says_where_it_was_trained(trained: Path) -> None:
    header = read_header(last_checkpoint(trained))
    assert (header.env["id"], header.env["image_size"]) == ("wm/Catch-v0", [16, 16])
    assert header.agent == "diamond"


def test_a_checkpoint_is_a_whole_agent(trained: Path) -> None:
    agent = DiamondAgent.from_pretrained(last_checkpoint(trained))
    actions, _ = agent.policy_step(torch.zeros(2, 3, 16, 16), None)
    assert agent.config == SHORT
    assert set(actions.tolist()) <= {0, 1, 2}


def test_all_networks_have_learned(trained: Path) -> None:
    learned = DiamondAgent.from_pretrained(last_checkpoint(trained)).state_dict()
    fresh = DiamondTrainer("wm/Catch-v0", config=SHORT, directory=trained, seed=3).agent.state_dict()
    for part in ("denoiser", "rew_end_model", "actor_critic"):
        names = [name for name in fresh if name.startswith(f"{part}.")]
        assert any(not torch.equal(learned[name], fresh[name]) for name in names), part


@pytest.mark.parametrize("shape", [(20, 20), (20, 20, 1), (20, 20, 3), (3, 20, 20)])
def test_any_environment_of_images_will_do(tmp_path: Path, shape: tuple[int, ...]) -> None:
    trainer = DiamondTrainer("squares", config=short(**QUICK), env=lambda: Squares(shape), directory=tmp_path, seed=0)
    path = trainer.train()
    assert read_header(path).env["id"] == "squares"
    assert epochs_with(tmp_path, "evaluation/mean_return") == [3]
    assert {int(a) for a in trainer.replay.episodes.sample(32, 1).actions} <= {0, 1, 2}


def test_a_single_environment_is_trained_in_and_not_evaluated_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        DiamondTrainer(config=short(**QUICK), env=Squares(), directory=tmp_path).train()
    assert epochs_with(tmp_path, "evaluation/mean_return") == []
    assert "no evaluation during training" in caplog.text


def test_a_game_can_be_given_as_a_specification(tmp_path: Path) -> None:
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": (24, 24)})
    trainer = DiamondTrainer(spec, config=short(**{**QUICK, "max_epochs": 1}), directory=tmp_path)
    assert read_header(trainer.train()).env["image_size"] == [24, 24]


def test_a_nan_stops_the_training_and_names_the_tensor(tmp_path: Path) -> None:
    trainer = DiamondTrainer("wm/Catch-v0", config=short(**QUICK), directory=tmp_path)
    with torch.no_grad():
        trainer.agent.rew_end_model.head[2].weight[0] = float("nan")
    with pytest.raises(NonFiniteError, match="reward/end model is not finite: 'loss'"):
        trainer.train()


def test_continuous_actions_are_refused(tmp_path: Path) -> None:
    class Continuous(Squares):
        def __init__(self) -> None:
            super().__init__()
            self.action_space: Any = gymnasium.spaces.Box(-1, 1, (2,))

    with pytest.raises(UsageError, match="discrete actions"):
        DiamondTrainer(config=SHORT, env=Continuous(), directory=tmp_path)


def test_nothing_to_train_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give the trainer a game"):
        DiamondTrainer(config=SHORT, directory=tmp_path)


def test_it_trains_in_bfloat16(tmp_path: Path) -> None:
    compute = SHORT.compute.model_copy(update={"precision": "bfloat16"})
    config = short(**QUICK).model_copy(update={"compute": compute})
    agent = DiamondAgent.from_pretrained(DiamondTrainer("wm/Catch-v0", config=config, directory=tmp_path).train())
    assert {parameter.dtype for parameter in agent.parameters()} == {torch.float32}
    assert 3 in epochs_with(tmp_path, "actor_critic/loss")


@pytest.mark.parametrize("after_end", ["stop", "restart"])
def test_dreams_begin_anew_or_go_on(tmp_path: Path, after_end: str) -> None:
    imagination = SHORT.imagination.model_copy(update={"after_end": after_end})
    config = short(**QUICK).model_copy(update={"imagination": imagination})
    trainer = DiamondTrainer("wm/Catch-v0", config=config, directory=tmp_path)
    trainer.train()
    learning, _ = trainer._components["actor_critic"]
    assert len(learning.state_dict()["dreams"]) == 2


def test_the_learning_rate_rises_from_nothing(tmp_path: Path) -> None:
    trainer = DiamondTrainer("wm/Catch-v0", config=SHORT, directory=tmp_path)
    with trainer._random.as_global("collection"):
        for _ in range(20):
            assert trainer._collector is not None
            trainer._collector.step()
    learning, _ = trainer._components["denoiser"]
    before = {name: tensor.clone() for name, tensor in trainer.agent.denoiser.state_dict().items()}
    rates, still = [], []
    for _ in range(6):
        learning.update()
        rates.append(learning.optimizer.param_groups[0]["lr"])
        now = trainer.agent.denoiser.state_dict()
        still.append(all(torch.equal(before[name], now[name]) for name in before))
    assert rates == pytest.approx([0.0, 0.25e-4, 0.5e-4, 0.75e-4, 1e-4, 1e-4])
    assert still == [True] + [False] * 5


def test_biases_embeddings_and_norms_do_not_decay() -> None:
    agent = DiamondAgent.from_config(SHORT, action_size=3)
    for network in (agent.denoiser, agent.rew_end_model, agent.actor_critic):
        decayed, others = (group["params"] for group in parameter_groups(network, 0.01))
        names = {id(parameter): name for name, parameter in network.named_parameters()}
        assert {names[id(p)] for p in [*decayed, *others]} == set(names.values())
        assert not any("bias" in names[id(p)] or "emb" in names[id(p)] for p in decayed)
        assert all(p.ndim >= 2 for p in decayed)
        assert {names[id(p)] for p in others if p.ndim >= 2} == {n for n in names.values() if "act_emb" in n}


@pytest.fixture
def own_episodes(tmp_path: Path) -> Path:
    """Eight episodes of Squares, as files."""
    return write_episodes(tmp_path / "episodes")


def test_it_learns_from_own_episodes_without_an_environment(tmp_path: Path, own_episodes: Path) -> None:
    trainer = DiamondTrainer(data=own_episodes, config=short(max_epochs=2), directory=tmp_path / "run")
    header = read_header(trainer.train())
    assert (header.env["id"], header.counters["env_steps"]) == ("episodes", 0)
    assert trainer.agent.action_size == 3
    assert epochs_with(tmp_path / "run", "actor_critic/loss") == [1, 2]
    assert epochs_with(tmp_path / "run", "evaluation/mean_return") == []


def test_own_episodes_come_before_those_collected(tmp_path: Path, own_episodes: Path) -> None:
    config = short(**QUICK, collection__replay_capacity=400)
    trainer = DiamondTrainer("squares", data=own_episodes, config=config, env=Squares(), directory=tmp_path / "run")
    own = trainer.replay.num_steps
    trainer.train()
    assert own > 10
    assert trainer.replay.num_steps == own + 20 + 3 * 11


def test_other_data_is_another_training(tmp_path: Path, own_episodes: Path) -> None:
    config = short(max_epochs=1)
    DiamondTrainer(data=own_episodes, config=config, directory=tmp_path / "run").train()
    (own_episodes / "0.npz").unlink()
    with pytest.raises(UsageError, match=r"env\.own_data was"):
        DiamondTrainer(data=own_episodes, config=config, directory=tmp_path / "run").train()


def test_the_same_data_elsewhere_is_the_same_training(tmp_path: Path, own_episodes: Path) -> None:
    first = short(max_epochs=1, data=str(own_episodes))
    DiamondTrainer(config=first, directory=tmp_path / "run").train()
    moved = own_episodes.rename(tmp_path / "moved")
    more = short(max_epochs=2, data=str(moved))
    assert read_header(DiamondTrainer(config=more, directory=tmp_path / "run").train()).counters["epoch"] == 2


def test_parts_of_a_batch_add_up_to_the_whole(tmp_path: Path) -> None:
    """Nothing is padded in a long episode's middle, so the gradients of two halves are those of the whole batch."""
    norms = []
    for part in (None, 4):
        config = short(rew_end_model__micro_batch_size=part, rew_end_model__batch_size=8)
        trainer = DiamondTrainer("wm/Catch-v0", config=config, directory=tmp_path / str(part), seed=1)
        with trainer._random.as_global("collection"):
            for _ in range(20):
                assert trainer._collector is not None
                trainer._collector.step()
        learning, _ = trainer._components["rew_end_model"]
        whole = trainer.replay.transitions(8, 1)
        assert whole.mask.all()
        cuts = [slice(None)] if part is None else [slice(0, 4), slice(4, 8)]
        halves = iter([type(whole)(*(getattr(whole, f)[cut] for f in whole.__dataclass_fields__)) for cut in cuts])
        trainer.replay.transitions = lambda size, length, halves=halves: next(halves)  # type: ignore[method-assign]
        norms.append(float(learning.update()["gradient_norm"]))
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
