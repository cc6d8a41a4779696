"""Training, on the built-in game and on any environment."""

from __future__ import annotations

import csv
import logging
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from dreamer_configs import V1, V2, V3
from dreamer_training import SHORT, Walk, short
from PIL import Image

from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.trainer import DreamerTrainer
from wm_core.errors import UsageError
from wm_torchkit.checkpoint import read_header
from wm_torchkit.nan_guard import NonFiniteError

QUICK: dict[str, Any] = {"env_steps": 90, "evaluate_every": None, "pictures_every": None}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a whole short training on Catch."""
    directory = tmp_path_factory.mktemp("trained")
    DreamerTrainer("wm/Catch-v0", config=SHORT, image_size=(16, 16), directory=directory, seed=3).train()
    return directory


def epochs_with(directory: Path, name: str) -> list[int]:
    with (directory / "metrics.csv").open() as stream:
        return [int(row["epoch"]) for row in csv.DictReader(stream) if row["name"] == name]


def last_checkpoint(directory: Path) -> Path:
    return max(directory.glob("checkpoints/dreamer*-*.safetensors"))


def walk(tmp_path: Path, config: DreamerConfig, **options: Any) -> DreamerTrainer:
    return DreamerTrainer("walk", env=partial(Walk, **options), config=config, directory=tmp_path, seed=1)


def test_the_policy_learns_after_the_world_model_has_begun_to(trained: Path) -> None:
    assert epochs_with(trained, "pretraining/loss") == [2]
    assert epochs_with(trained, "training/loss") == list(range(2, 9))
    assert epochs_with(trained, "training/actor_loss") == list(range(3, 9))


def test_environment_steps_are_those_of_all_environments(trained: Path) -> None:
    counters = read_header(last_checkpoint(trained)).counters
    assert (counters["epoch"], counters["env_steps"]) == (8, 240)


def test_the_policy_is_evaluated_in_between_and_at_the_end(trained: Path) -> None:
    assert epochs_with(trained, "evaluation/mean_return") == [3, 6, 8]


def test_open_loop_pictures_are_saved(trained: Path) -> None:
    names = sorted(path.name for path in (trained / "pictures").iterdir())
    assert names == [f"epoch-00000{epoch}-open-loop.{kind}" for epoch in (4, 8) for kind in ("gif", "png")]
    with Image.open(trained / "pictures" / "epoch-000008-open-loop.gif") as film:
        assert getattr(film, "n_frames", 1) == 8
    with Image.open(trained / "pictures" / "epoch-000008-open-loop.png") as image:
        assert np.asarray(image).max() > 0


def test_the_checkpoint_says_where_it_was_trained(trained: Path) -> None:
    header = read_header(last_checkpoint(trained))
    assert (header.agent, header.env["id"], header.env["image_size"]) == ("dreamerv3", "wm/Catch-v0", [16, 16])


def test_a_checkpoint_is_a_whole_agent(trained: Path) -> None:
    agent = checkpoint.load(last_checkpoint(trained), "dreamerv3")
    assert agent.config == SHORT
    assert (agent.observation.image, agent.action.size) == ((3, 16, 16), 3)


def test_all_networks_have_learned(trained: Path) -> None:
    agent = checkpoint.load(last_checkpoint(trained))
    fresh = DreamerTrainer("wm/Catch-v0", config=SHORT, image_size=(16, 16), directory=trained, seed=3).agent
    for name, module in (("world model", "world_model"), ("actor", "actor"), ("critic", "critic")):
        learned, before = getattr(agent, module).parameters(), getattr(fresh, module).parameters()
        assert any(not torch.equal(a, b) for a, b in zip(learned, before, strict=True)), name


@pytest.mark.parametrize("version", [V1, V2, V3], ids=["v1", "v2", "v3"])
@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("shows", ["image", "vector", "both"])
def test_any_observations_and_actions_will_do(
    tmp_path: Path, version: DreamerConfig, continuous: bool, shows: str
) -> None:
    path = walk(tmp_path, short(version, **QUICK), shows=shows, continuous=continuous).train()
    agent = checkpoint.load(path)
    assert agent.action.kind == ("continuous" if continuous else "discrete")
    assert (agent.observation.image is None, agent.observation.vector is None) == (shows == "vector", shows == "image")
    assert epochs_with(tmp_path, "training/actor_loss") == [3]


@pytest.mark.parametrize("num_envs", [1, 5])
def test_any_number_of_environments_will_do(tmp_path: Path, num_envs: int) -> None:
    trainer = walk(tmp_path, short(**QUICK, num_envs=num_envs))
    assert read_header(trainer.train()).counters["env_steps"] == 90
    assert len(trainer.replay.episodes.episodes().ids) > num_envs


@pytest.mark.parametrize("shape", [(20, 24, 3), (3, 20, 24), (4, 20, 24)])
def test_any_layout_of_images_will_do(tmp_path: Path, shape: tuple[int, ...]) -> None:
    trainer = walk(tmp_path, short(**{**QUICK, "pictures_every": 3}), shape=shape)
    trainer.train()
    assert trainer.agent.observation.image == (min(shape), 20, 24)
    assert len(list((tmp_path / "pictures").iterdir())) == 2


def test_a_game_can_be_evaluated_in_where_a_function_makes_it(tmp_path: Path) -> None:
    walk(tmp_path, short(**{**QUICK, "evaluate_every": 3})).train()
    assert epochs_with(tmp_path, "evaluation/mean_return") == [3]


def test_a_single_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give a function"):
        DreamerTrainer(env=Walk(), config=SHORT, directory=tmp_path)  # type: ignore[arg-type]


def test_unbounded_actions_are_refused_by_name(tmp_path: Path) -> None:
    def unbounded() -> gymnasium.Env[Any, Any]:
        env = Walk()
        env.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
        return env

    with pytest.raises(UsageError, match="no bounds in 2 of 2 dimensions"):
        DreamerTrainer("walk", env=unbounded, config=SHORT, directory=tmp_path)


def test_a_nan_stops_the_training_and_names_the_tensor(tmp_path: Path) -> None:
    trainer = walk(tmp_path, short(**QUICK))
    with torch.no_grad():
        next(trainer.agent.world_model.decoder.parameters()).fill_(float("nan"))
    with pytest.raises(NonFiniteError, match="update is not finite"):
        trainer.train()


def test_the_size_of_the_replay_is_announced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        walk(tmp_path, short(**QUICK, replay_mapped=True))
    assert "replay of 120 steps: up to 58.0 KiB in files under" in caplog.text


def test_a_budget_of_prefill_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing would be learned: the prefill takes 45 of 40 environment steps"):
        walk(tmp_path, short(env_steps=40))


def test_a_prefill_shorter_than_a_sequence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"raise training\.prefill_steps to 21"):
        walk(tmp_path, short(prefill_steps=15))
