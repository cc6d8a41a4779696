"""DIAMOND as wmbench sees it: checkpoints, lanes, environments, dreams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from diamond_training import SHORT, short, write_episodes

from wm_agent_diamond.adapter import DiamondAdapter
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.environments import evaluation_spec, training_spec
from wm_agent_diamond.plugin import DIAMOND
from wm_agent_diamond.presets import preset
from wm_agent_diamond.trainer import DiamondTrainer
from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.errors import CheckpointError, UsageError
from wm_core.plan import Request, plan
from wm_core.protocols import AdapterContext, TrainRequest
from wm_core.specs import TrainBudget
from wm_torchkit.checkpoint import CheckpointHeader, read_header, write_checkpoint


@pytest.fixture(autouse=True)
def registered() -> Any:
    registry.register(DIAMOND)
    yield
    registry.unregister("diamond")


def context(game: str = "wm/Catch-v0", *, actions: int = 3, size: int = 32, **fields: Any) -> AdapterContext:
    return AdapterContext(
        env=resolve_env(game, overrides={"image_size": (size, size)}),
        observation_space=gymnasium.spaces.Box(0, 255, (size, size, 3), np.uint8),
        action_space=gymnasium.spaces.Discrete(actions),
        **fields,
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small agent of three actions in a checkpoint."""
    path = tmp_path / "small.safetensors"
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": (24, 24)})
    DiamondAgent.from_config(SHORT, action_size=3, seed=1).save(path, env=spec.model_dump(mode="json"))
    return path


def test_another_number_of_actions_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="chooses among 3 actions, and wm/Catch-v0 has 4"):
        DiamondAdapter(context(actions=4)).load_checkpoint(saved)


def test_another_agents_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    write_checkpoint(path, CheckpointHeader(agent="iris", agent_format="i/1", config={}), {"w": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="checkpoint of 'iris', not of 'diamond'"):
        DiamondAdapter(context()).load_checkpoint(path)
    with pytest.raises(CheckpointError, match="checkpoint of 'iris', not of 'diamond'"):
        DiamondAdapter.expected_env(path, None, "catch")


def test_a_stale_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stale.safetensors"
    write_checkpoint(
        path, CheckpointHeader(agent="diamond", agent_format="diamond/0", config={}), {"w": torch.zeros(1)}
    )
    with pytest.raises(CheckpointError, match="has format 'diamond/0'; this version reads 'wm-agent-diamond/1'"):
        DiamondAdapter(context()).load_checkpoint(path)


def test_continuous_actions_are_refused() -> None:
    given = context().model_copy(update={"action_space": gymnasium.spaces.Box(-1, 1, (2,))})
    with pytest.raises(UsageError, match="discrete actions"):
        DiamondAdapter(given)


def test_a_checkpoint_asks_for_the_picture_it_was_trained_on(saved: Path) -> None:
    spec = plan(Request(agent="diamond", games=["wm/Catch-v0"], checkpoint=saved)).envs[0]
    assert (spec.image_size, spec.resize) == ((24, 24), "nearest")


def test_what_a_user_sets_wins(saved: Path) -> None:
    request = Request(agent="diamond", games=["wm/Catch-v0"], checkpoint=saved, env_overrides={"image_size": [40, 40]})
    assert plan(request).envs[0].image_size == (40, 40)


def test_a_checkpoint_of_catch_asks_another_game_for_its_size_alone(saved: Path) -> None:
    assert DiamondAdapter.expected_env(saved, None, "gymnasium") == {"image_size": (16, 16)}


@pytest.mark.parametrize(("name", "size"), [(None, 16), ("tiny", 16), ("paper", 64)])
def test_a_preset_asks_for_its_picture(name: str | None, size: int) -> None:
    assert DiamondAdapter.expected_env(None, name, "catch") == {"image_size": (size, size)}


def test_atari_is_measured_as_published() -> None:
    spec = plan(Request(agent="diamond", games=["ALE/Pong-v5"], untrained=True)).envs[0]
    published = registry.load_backend("atari").protocols()["diamond"]
    assert spec.protocol == "diamond"
    assert {name: getattr(spec, name) for name in published} == dict(published)


def test_atari_is_trained_in_as_published() -> None:
    measured = resolve_env("ALE/Pong-v5", protocol="diamond")
    trained = training_spec(measured)
    published = registry.load_backend("atari").protocols()["diamond-train"]
    assert {name: getattr(trained, name) for name in published} == dict(published)
    assert evaluation_spec(trained).model_copy(update={"vectorization": measured.vectorization}) == measured


def test_what_a_user_set_stays_in_training() -> None:
    measured = resolve_env("ALE/Pong-v5", protocol="diamond", overrides={"noop_max": 7, "max_frames": 500})
    trained = training_spec(measured)
    assert (trained.noop_max, trained.max_frames, trained.life_loss_ends_episode) == (7, 500, True)


def test_another_protocol_is_trained_in_as_it_is() -> None:
    spec = resolve_env("ALE/Pong-v5", protocol="atari100k")
    assert training_spec(spec) is spec


def play(adapter: DiamondAdapter, lanes: int, seeds: list[int], steps: int = 6) -> np.ndarray:
    adapter.reset(np.ones(lanes, bool), np.array(seeds, np.int64))
    rng = np.random.default_rng(0)
    return np.stack(
        [adapter.act(rng.integers(0, 256, (1, 32, 32, 3), np.uint8).repeat(lanes, 0)) for _ in range(steps)]
    )


def test_actions_are_sampled_and_not_the_likeliest_alone() -> None:
    actions = play(DiamondAdapter(context(preset="tiny")), 20, list(range(20)))
    assert len(np.unique(actions[0])) > 1


def test_actions_are_numbered_as_the_environment_numbers_them() -> None:
    given = context(preset="tiny").model_copy(update={"action_space": gymnasium.spaces.Discrete(3, start=10)})
    assert set(np.unique(play(DiamondAdapter(given), 8, list(range(8))))) <= {10, 11, 12}


def test_fresh_weights_depend_on_the_seed_alone() -> None:
    one, same, other = (DiamondAdapter(context(preset="tiny", seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(one.agent.actor_critic.encoder[0].weight, same.agent.actor_critic.encoder[0].weight)
    assert not torch.equal(one.agent.actor_critic.encoder[0].weight, other.agent.actor_critic.encoder[0].weight)


def test_it_dreams_with_its_own_actions(saved: Path) -> None:
    adapter = DiamondAdapter(context(size=24))
    adapter.load_checkpoint(saved)
    seen = np.random.default_rng(0).integers(0, 256, (3, 24, 24, 3), np.uint8)
    dream, again, other = (adapter.imagine(seen, None, 5, seed) for seed in (0, 0, 1))
    assert (dream.frames.shape, dream.frames.dtype) == ((5, 16, 16, 3), np.uint8)
    assert (dream.actions.shape, dream.rewards.shape, dream.ends.shape) == ((5,), (5,), (5,))
    assert set(dream.rewards) <= {-1.0, 0.0, 1.0}
    assert np.array_equal(dream.frames, again.frames)
    assert not np.array_equal(dream.frames, other.frames)


def test_it_dreams_with_actions_it_is_given(saved: Path) -> None:
    adapter = DiamondAdapter(context(size=24))
    adapter.load_checkpoint(saved)
    actions = np.array([0, 1, 2, 0])
    dream = adapter.imagine(np.zeros((1, 24, 24, 3), np.uint8), actions, 4, 0)
    assert np.array_equal(dream.actions, actions)


def request(directory: Path, **overrides: Any) -> TrainRequest:
    return TrainRequest(budget=TrainBudget(epochs=1), directory=directory, overrides=overrides)


def test_an_unknown_setting_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean training\.collection\.epsilon"):
        DiamondAdapter(context(preset="tiny")).train(request(tmp_path, **{"training.collection.epsilom": 0.1}))
    assert list(tmp_path.iterdir()) == []


def test_own_episodes_can_be_named_by_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wm_agent_diamond.adapter.preset", lambda _: short(collection__replay_capacity=400))
    data = {"training.data": str(write_episodes(tmp_path / "episodes"))}
    path = DiamondAdapter(context(size=16, preset="tiny")).train(request(tmp_path / "run", **data))
    assert len(read_header(path).env["own_data"]) == 64


def test_own_episodes_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no episodes at nowhere"):
        DiamondAdapter(context(preset="tiny")).train(request(tmp_path, **{"training.data": "nowhere"}))


def test_a_trained_agent_is_measured_on_what_it_was_trained_on(tmp_path: Path) -> None:
    path = DiamondTrainer("wm/Catch-v0", config=short(max_epochs=1, pictures_every=None), directory=tmp_path).train()
    spec = plan(Request(agent="diamond", games=["wm/Catch-v0"], checkpoint=path)).envs[0]
    assert spec.image_size == (16, 16)
    adapter = DiamondAdapter(context(size=16))
    adapter.load_checkpoint(path)
    assert adapter.agent.config == short(max_epochs=1, pictures_every=None)


def test_the_demo_is_the_tiny_preset_and_small() -> None:
    demo = DIAMOND.demo
    assert demo is not None
    assert demo.checkpoint is not None
    import wm_agent_diamond

    path = Path(wm_agent_diamond.__file__).parent / demo.checkpoint
    assert path.stat().st_size < 4_000_000
    agent = DiamondAgent.from_pretrained(path)
    assert agent.config == preset("tiny")
    assert agent.action_size == 3
