"""Genie as wmbench sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from genie_training import SHORT, catch, short, trainer

from wm_agent_genie import checkpoint
from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.adapter import GenieAdapter
from wm_agent_genie.data.collect import collect
from wm_agent_genie.presets import PRESETS, preset
from wm_agent_genie.settings import with_overrides, within_budget
from wm_agent_genie.trainer import GenieTrainer
from wm_agent_genie.video_sources import random_policy
from wm_core.envs.catch_env import Catch
from wm_core.envs.resolve import resolve_env
from wm_core.errors import CheckpointError, UsageError
from wm_core.protocols import AdapterContext
from wm_core.specs import TrainBudget
from wm_torchkit.checkpoint import write_checkpoint


def adapter() -> GenieAdapter:
    env = Catch(SHORT.image_size)
    return GenieAdapter(
        AdapterContext(env=catch(), observation_space=env.observation_space, action_space=env.action_space)
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trainer(tmp_path_factory.mktemp("trained")).train()


def test_a_checkpoint_says_what_it_learned_from(trained: Path) -> None:
    _, header = checkpoint.load(trained)
    assert header.notes["video"].startswith("random actions; ")
    assert header.notes["expert"].startswith("scripted expert, 10% of its actions random; ")
    assert 0 < float(header.notes["expert_return"]) <= 1


def test_a_checkpoint_brings_its_picture_along(trained: Path) -> None:
    assert GenieAdapter.expected_env(trained, None, "catch")["image_size"] == [10, 10]


def test_a_loaded_agent_plays(trained: Path) -> None:
    agent = adapter()
    agent.load_checkpoint(trained)
    returns = agent.evaluate(4)["episode_returns"]
    assert set(returns) <= {-1.0, 1.0}


def test_a_checkpoint_without_a_policy_does_not_play(tmp_path: Path) -> None:
    early = trainer(tmp_path, short(epochs=5)).train()
    with pytest.raises(CheckpointError, match=r"no policy, and cannot act; train on"):
        adapter().load_checkpoint(early)


def test_a_checkpoint_for_other_actions_is_refused(tmp_path: Path) -> None:
    acting = ActingGenie.from_config(SHORT, real_actions=4)
    path = tmp_path / "four.safetensors"
    write_checkpoint(path, checkpoint.header(SHORT, 4, catch(), {}), acting.state_dict())
    with pytest.raises(CheckpointError, match="chooses among 4 actions"):
        adapter().load_checkpoint(path)


def test_imagine_gives_a_frame_for_each_action_asked_for(trained: Path) -> None:
    agent = adapter()
    agent.load_checkpoint(trained)
    seen = np.zeros((2, 10, 10, 3), np.uint8)
    dream = agent.imagine(seen, None, 4, seed=0)
    assert (dream.frames.shape, dream.frames.dtype) == ((4, 10, 10, 3), np.uint8)
    np.testing.assert_array_equal(dream.frames, agent.imagine(seen, None, 4, seed=0).frames)


def test_real_actions_become_the_latent_ones_that_were_seen_most_with_them() -> None:
    agent = adapter()
    codes = SHORT.latent_actions.actions
    agent.acting.latent_map.fill(torch.tensor([0, 0, 1, 2, 2]) % codes, torch.tensor([1, 1, 1, 0, 2]))
    dream = agent.imagine(np.zeros((1, 10, 10, 3), np.uint8), np.array([1, 0, 2]), 3, seed=0)
    assert dream.actions.tolist() == [0, 2, 2]


def test_a_real_action_that_no_label_knows_cannot_be_imagined() -> None:
    agent = adapter()
    agent.acting.latent_map.fill(torch.tensor([0]), torch.tensor([1]))
    with pytest.raises(UsageError, match=r"the actions \[0\]"):
        agent.imagine(np.zeros((1, 10, 10, 3), np.uint8), np.array([1, 0]), 2, seed=0)


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_that_the_environment_does_not_have_cannot_be_imagined(action: int) -> None:
    agent = adapter()
    agent.acting.latent_map.fill(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]))
    with pytest.raises(UsageError, match=r"the environment has 0\.\.2"):
        agent.imagine(np.zeros((1, 10, 10, 3), np.uint8), np.array([1, action]), 2, seed=0)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_whole(name: str) -> None:
    assert preset(name).training.policy.start_after_epoch >= preset(name).training.latent_actions.stop_after_epoch


def test_an_unknown_setting_is_refused_with_its_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*training\.policy\.batch_size"):
        with_overrides(SHORT, {"training.policy.batchsize": 3})


def test_a_budget_of_steps_is_shared_by_both_collections() -> None:
    config = within_budget(short(video_steps=300, expert_steps=100), TrainBudget(steps=200, epochs=3))
    assert (config.training.video_steps, config.training.expert_steps) == (150, 50)
    assert config.training.epochs == 3


def test_a_game_without_a_scripted_expert_asks_for_datasets(tmp_path: Path) -> None:
    other = catch().model_copy(update={"id": "ALE/Pong-v5"})
    with pytest.raises(UsageError, match="has no scripted expert"):
        GenieTrainer(other, real_actions=6, config=SHORT, directory=tmp_path)


def test_where_an_expert_is_given_random_video_of_any_game_is_collected(tmp_path: Path) -> None:
    spec = resolve_env("CartPole-v1", overrides={"observation": "rgb", "image_size": SHORT.image_size})
    collect(spec, random_policy(spec), tmp_path / "expert", steps=120, source="somebody")
    config = short(expert=str(tmp_path / "expert"), video_steps=120)
    made = GenieTrainer(spec, real_actions=2, config=config, directory=tmp_path / "training")
    assert made.sources.collected_steps == 120
    assert made.sources.video.manifest.source == "random actions"


def test_frames_of_another_shape_are_refused(tmp_path: Path) -> None:
    trainer(tmp_path / "a", short(epochs=1))
    config = short(video=str(tmp_path / "a" / "video"), expert=str(tmp_path / "a" / "expert"))
    with pytest.raises(UsageError, match="frames of 10x10x3, and the agent is for 20x20x3"):
        trainer(tmp_path / "b", config.model_copy(update={"image_size": (20, 20)}))


def test_given_datasets_are_trained_on_and_nothing_is_collected(tmp_path: Path) -> None:
    trainer(tmp_path / "a", short(epochs=1))
    config = short(video=str(tmp_path / "a" / "video"), expert=str(tmp_path / "a" / "expert"), epochs=1)
    given = trainer(tmp_path / "b", config)
    assert given.train().exists()
    assert given.sources.collected_steps == 0
    assert not (tmp_path / "b" / "video").exists()
