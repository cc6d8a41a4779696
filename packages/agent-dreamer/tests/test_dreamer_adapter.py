"""The Dreamers as wmbench sees them: checkpoints, lanes, environments, dreams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from dreamer_configs import V3

from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.adapter import DreamerV1Adapter, DreamerV2Adapter, DreamerV3Adapter
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.environments import evaluation_spec, training_spec
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_agent_dreamer.player import DreamerPlayer
from wm_core import registry
from wm_core.envs.resolve import resolve_env
from wm_core.errors import CheckpointError, UsageError
from wm_core.plan import Request, plan
from wm_core.protocols import AdapterContext, TrainRequest
from wm_core.specs import TrainBudget
from wm_torchkit.checkpoint import CheckpointHeader, write_checkpoint

PICTURES = gymnasium.spaces.Box(0, 255, (16, 16, 3), np.uint8)


def context(game: str = "wm/Catch-v0", *, actions: int = 3, size: int = 16, **fields: Any) -> AdapterContext:
    return AdapterContext(
        env=resolve_env(game, overrides={"image_size": (size, size)}),
        observation_space=gymnasium.spaces.Box(0, 255, (size, size, 3), np.uint8),
        action_space=gymnasium.spaces.Discrete(actions),
        **fields,
    )


def write(path: Path, agent: str = "dreamerv3", size: int = 16) -> Path:
    observation = ObservationLayout(image=(3, size, size))
    action = ActionLayout(kind="discrete", size=3)
    networks = DreamerAgent.from_config(V3, observation=observation, action=action, seed=1)
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": (size, size)}).model_dump(mode="json")
    header = checkpoint.header(agent, V3, observation, action).model_copy(update={"env": spec})
    write_checkpoint(path, header, networks.state_dict())
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small agent of three actions that sees 16x16 pixels."""
    return write(tmp_path / "small.safetensors")


def test_another_number_of_actions_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="has 3 actions, and wm/Catch-v0 has 4 actions"):
        DreamerV3Adapter(context(actions=4)).load_checkpoint(saved)


def test_other_pictures_are_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match=r"sees images of 16x16 pixels.* shows images of 24x24"):
        DreamerV3Adapter(context(size=24)).load_checkpoint(saved)


def test_another_versions_checkpoint_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="checkpoint of 'dreamerv3', not of 'dreamerv2'; use --agent dreamerv3"):
        DreamerV2Adapter(context()).load_checkpoint(saved)
    with pytest.raises(CheckpointError, match="use --agent dreamerv3"):
        DreamerV2Adapter.expected_env(saved, None, "catch")


def test_a_stale_format_and_another_agent_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "stale.safetensors"
    write_checkpoint(path, CheckpointHeader(agent="dreamerv3", agent_format="d/0", config={}), {"w": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="has format 'd/0'; this version reads 'wm-agent-dreamer/1'"):
        checkpoint.load(path)
    write_checkpoint(path, CheckpointHeader(agent="iris", agent_format="i/1", config={}), {"w": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="use --agent iris"):
        checkpoint.load(path)


def test_a_configuration_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "new.safetensors"
    config = {"observation": {"vector": 2}, "action": {"kind": "discrete", "size": 2}, "novelty": 1}
    header = CheckpointHeader(agent="dreamerv3", agent_format=checkpoint.FORMAT, config=config)
    write_checkpoint(path, header, {"w": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="a configuration that this version does not read: novelty"):
        checkpoint.load(path)


def test_a_checkpoint_asks_for_what_it_was_trained_to_see(saved: Path) -> None:
    spec = plan(Request(agent="dreamerv3", games=["wm/Catch-v0"], checkpoint=saved)).envs[0]
    assert (spec.image_size, spec.resize) == ((16, 16), "nearest")


@pytest.mark.parametrize(("name", "size"), [(None, 32), ("tiny", 32), ("size12m", 64)])
def test_a_preset_asks_for_its_picture_of_catch(name: str | None, size: int) -> None:
    assert DreamerV3Adapter.expected_env(None, name, "catch") == {"image_size": (size, size)}


@pytest.mark.parametrize(
    ("agent", "protocol"),
    [("dreamerv1", "dreamerv1"), ("dreamerv2", "dreamerv2"), ("dreamerv3", "dreamerv3-atari100k")],
)
def test_atari_is_measured_as_published(agent: str, protocol: str) -> None:
    spec = plan(Request(agent=agent, games=["ALE/Pong-v5"], untrained=True)).envs[0]
    published = registry.load_backend("atari").protocols()[protocol]
    assert spec.protocol == protocol
    assert {name: getattr(spec, name) for name in published} == dict(published)


def test_v1_trains_on_lives_and_is_measured_in_whole_games() -> None:
    measured = resolve_env("ALE/Pong-v5", protocol="dreamerv1")
    trained = training_spec(measured)
    assert (trained.protocol, trained.life_loss_ends_episode) == ("dreamerv1-train", True)
    assert evaluation_spec(trained).model_copy(update={"vectorization": measured.vectorization}) == measured


@pytest.mark.parametrize("protocol", ["dreamerv2", "dreamerv3-atari100k", "atari100k"])
def test_other_protocols_are_trained_in_as_they_are(protocol: str) -> None:
    spec = resolve_env("ALE/Pong-v5", protocol=protocol)
    assert training_spec(spec) is spec


def test_vectors_are_seen_as_they_are_and_pictures_where_asked_for() -> None:
    assert plan(Request(agent="dreamerv1", games=["Pendulum-v1"], untrained=True)).envs[0].observation == "native"
    pictures = {"observation": "rgb", "image_size": 64}
    spec = plan(Request(agent="dreamerv1", games=["Pendulum-v1"], untrained=True, env_overrides=pictures)).envs[0]
    assert (spec.observation, spec.image_size) == ("rgb", (64, 64))


@pytest.mark.parametrize("adapter", [DreamerV1Adapter, DreamerV2Adapter, DreamerV3Adapter])
@pytest.mark.parametrize("overrides", [{}, {"observation": "rgb", "image_size": 32}])
def test_fresh_agents_play_pendulum_from_vectors_and_pixels(adapter: Any, overrides: dict[str, Any]) -> None:
    spec = resolve_env("Pendulum-v1", overrides={**overrides, "max_frames": 3})
    env = registry.load_backend("gymnasium").make(spec)
    given = AdapterContext(
        env=spec, observation_space=env.observation_space, action_space=env.action_space, preset="tiny", num_envs=2
    )
    first, again = (adapter(given).evaluate(3)["episode_returns"] for _ in range(2))
    assert first == again
    assert len(set(first)) == 3


def test_fresh_weights_depend_on_the_seed_alone() -> None:
    one, same, other = (DreamerV3Adapter(context(preset="tiny", seed=seed)) for seed in (0, 0, 1))
    weights = [next(iter(each.agent.world_model.parameters())) for each in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_an_unknown_setting_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    request = TrainRequest(budget=TrainBudget(), directory=tmp_path, overrides={"actor.entropi": 0.1})
    with pytest.raises(UsageError, match=r"did you mean actor\.entropy"):
        DreamerV3Adapter(context(preset="tiny")).train(request)
    assert list(tmp_path.iterdir()) == []


def loaded(saved: Path) -> DreamerV3Adapter:
    adapter = DreamerV3Adapter(context())
    adapter.load_checkpoint(saved)
    return adapter


def test_it_dreams_with_its_own_actions(saved: Path) -> None:
    seen = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), np.uint8)
    dream, again, other = (loaded(saved).imagine(seen, None, 5, seed) for seed in (0, 0, 1))
    assert (dream.frames.shape, dream.frames.dtype) == ((5, 16, 16, 3), np.uint8)
    assert (dream.actions.shape, dream.rewards.shape, dream.ends.shape) == ((5,), (5,), (5,))
    assert np.array_equal(dream.frames, again.frames)
    assert not np.array_equal(dream.frames, other.frames)


@pytest.mark.parametrize("given", [[0, 1, 2, 0], [2, 1, 0, 1, 2, 0]])
def test_it_dreams_with_actions_it_is_given(saved: Path, given: list[int]) -> None:
    dream = loaded(saved).imagine(np.zeros((3, 16, 16, 3), np.uint8), np.array(given), 4, 0)
    assert dream.actions.tolist() == given[-4:]


def test_actions_that_fit_no_dream_are_refused(saved: Path) -> None:
    with pytest.raises(UsageError, match="5 actions for 3 observations and a dream of 4 steps; give 4, or 6"):
        loaded(saved).imagine(np.zeros((3, 16, 16, 3), np.uint8), np.zeros(5, np.int64), 4, 0)


def test_dreams_of_vectors_are_refused() -> None:
    spaces = {
        "observation_space": gymnasium.spaces.Box(-1, 1, (2,)),
        "action_space": gymnasium.spaces.Discrete(2),
    }
    adapter = DreamerV3Adapter(context(preset="tiny").model_copy(update=spaces))
    with pytest.raises(UsageError, match="sees vectors and no images"):
        adapter.imagine(np.zeros((1, 2), np.float32), None, 3, 0)  # type: ignore[arg-type]


def test_players_of_one_seed_play_alike(saved: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (12, 16, 16, 3), np.uint8)

    def play(seed: int) -> list[int]:
        player = DreamerPlayer.load(saved, PICTURES, gymnasium.spaces.Discrete(3, start=4), seed=seed)
        state, taken = None, []
        for frame in frames:
            action, state = player.act(frame, state, sample=True)
            taken.append(action)
        return taken

    assert play(0) == play(0)
    assert set(play(0)) <= {4, 5, 6}
    assert play(0) != play(1)


def test_a_player_refuses_an_environment_it_was_not_made_for(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="has 3 actions, and this environment has 2 actions"):
        DreamerPlayer.load(saved, PICTURES, gymnasium.spaces.Discrete(2))
