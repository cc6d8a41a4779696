from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

import wm_agent_iris
from wm_agent_iris import checkpoint
from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import ComputeConfig, IRISConfig
from wm_agent_iris.model import create_model
from wm_agent_iris.presets import preset
from wm_core.errors import CheckpointError, UsageError
from wm_torchkit.checkpoint import CheckpointHeader, read_header, write_checkpoint
from wm_torchkit.weights import load_weights


@pytest.fixture
def frames(generator: torch.Generator) -> Tensor:
    return torch.randint(256, (3, 3, 16, 16), generator=generator, dtype=torch.uint8)


def test_weights_that_are_not_finite_are_refused_by_name() -> None:
    agent = IRISAgent.from_config(preset("tiny"), action_size=3)
    weights = {name: tensor.clone() for name, tensor in agent.state_dict().items()}
    weights["actor_critic.actor.bias"][0] = float("nan")
    with pytest.raises(CheckpointError, match=r"NaN or infinite.*actor_critic\.actor\.bias"):
        load_weights(agent, weights, "here")


def test_dreams_of_no_steps_and_frames_beyond_one_are_refused() -> None:
    agent = IRISAgent.from_config(preset("tiny"), action_size=3)
    with pytest.raises(ValueError, match="horizon is 0"):
        agent.imagine_rollout(torch.rand(1, 3, 32, 32), horizon=0)
    with pytest.raises(ValueError, match="divide by 255"):
        agent.imagine_rollout(torch.full((1, 3, 32, 32), 200.0), horizon=2)


def test_the_seed_alone_decides_the_weights(small_config: IRISConfig) -> None:
    torch.manual_seed(4)
    before = torch.get_rng_state()
    agents = [IRISAgent.from_config(small_config, action_size=3, seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(torch.get_rng_state(), before)
    weights = [torch.cat([p.flatten() for p in agent.parameters()]) for agent in agents]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_an_agent_needs_an_action(small_config: IRISConfig) -> None:
    with pytest.raises(ValueError, match="at least one action"):
        IRISAgent.from_config(small_config, action_size=0)


def test_create_model_takes_a_presets_name() -> None:
    agent = create_model(action_size=4, device="cpu", config="tiny")
    assert agent.action_size == 4
    assert not agent.training
    with pytest.raises(UsageError, match="no preset 'medium'"):
        create_model(action_size=4, config="medium")


def test_every_public_name_is_there() -> None:
    for name in wm_agent_iris.__all__:
        assert getattr(wm_agent_iris, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'IRISEverything'"):
        _ = wm_agent_iris.IRISEverything


def test_actions_are_sampled_with_the_generator(agent: IRISAgent, frames: Tensor) -> None:
    many = frames[:1].expand(600, 3, 16, 16)
    actions, _ = agent.act(many, generator=torch.Generator().manual_seed(0), temperature=2.0)
    again, _ = agent.act(many, generator=torch.Generator().manual_seed(0), temperature=2.0)
    assert torch.equal(actions, again)
    logits, _ = agent.policy(frames[:1])
    drawn = torch.bincount(actions, minlength=3) / 600
    assert torch.allclose(drawn, torch.softmax(logits[0] / 2.0, -1), atol=0.07)


def test_the_temperature_is_that_of_evaluation_unless_given(agent: IRISAgent, frames: Tensor) -> None:
    acted = [
        agent.act(frames.repeat(50, 1, 1, 1), generator=torch.Generator().manual_seed(0), temperature=t)[0]
        for t in (None, 0.5, 5.0)
    ]
    assert torch.equal(acted[0], acted[1])
    assert not torch.equal(acted[0], acted[2])


def test_the_state_carries_the_past(agent: IRISAgent, frames: Tensor) -> None:
    _, state = agent.policy(frames)
    fresh, _ = agent.policy(frames)
    later, _ = agent.policy(frames, state)
    assert not torch.allclose(fresh, later, atol=1e-4)


def test_a_zeroed_lane_begins_anew(agent: IRISAgent, frames: Tensor) -> None:
    _, state = agent.policy(frames)
    state[:, :, 1] = 0
    fresh, _ = agent.policy(frames)
    later, _ = agent.policy(frames, state)
    assert torch.allclose(later[1], fresh[1], atol=1e-6)
    assert not torch.allclose(later[0], fresh[0], atol=1e-4)


def test_lanes_do_not_mix(agent: IRISAgent, frames: Tensor) -> None:
    together, _ = agent.policy(frames)
    alone = torch.cat([agent.policy(frames[i : i + 1])[0] for i in range(3)])
    assert torch.allclose(together, alone, atol=1e-5)


def test_the_policy_sees_reconstructions(agent: IRISAgent, frames: Tensor) -> None:
    seen = agent.tokenizer.reconstruct(frames)
    with torch.no_grad():
        expected = agent.actor_critic(seen[:, None], agent.actor_critic.initial_state(3)).logits[:, 0]
    assert torch.equal(agent.policy(frames)[0], expected)


def test_a_saved_agent_comes_back(tmp_path: Path, agent: IRISAgent, frames: Tensor) -> None:
    path = tmp_path / "agent.safetensors"
    agent.save(path, env={"id": "wm/Catch-v0"}, counters={"epoch": 3}, notes={"perceptual loss": "none"})
    back = IRISAgent.from_pretrained(path)
    assert back.config == agent.config
    assert not back.training
    assert torch.equal(back.policy(frames)[0], agent.policy(frames)[0])
    header = read_header(path)
    assert header.agent_format == IRISAgent.CHECKPOINT_FORMAT
    assert (header.env, header.counters) == ({"id": "wm/Catch-v0"}, {"epoch": 3})
    assert header.notes == {"perceptual loss": "none"}


def test_how_it_computes_can_be_changed_on_loading(tmp_path: Path, agent: IRISAgent) -> None:
    agent.save(tmp_path / "agent.safetensors")
    compute = ComputeConfig(precision="bfloat16")
    back = IRISAgent.from_pretrained(tmp_path / "agent.safetensors", compute=compute)
    assert back.config == agent.config.model_copy(update={"compute": compute})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            CheckpointHeader(agent="iris", agent_format="wm-agent-iris/0", config={}),
            "has format 'wm-agent-iris/0'; this version reads 'wm-agent-iris/1'",
        ),
        (CheckpointHeader(agent="diamond", agent_format="x", config={}), "is a checkpoint of 'diamond'"),
        (
            CheckpointHeader(agent="iris", agent_format="wm-agent-iris/1", config={"action_size": 3, "depth": 1}),
            "has a configuration that this version does not read: depth",
        ),
    ],
)
def test_a_stale_or_foreign_checkpoint_is_refused(tmp_path: Path, header: CheckpointHeader, message: str) -> None:
    path = tmp_path / "other.safetensors"
    write_checkpoint(path, header, {"weight": torch.zeros(1)})
    with pytest.raises(CheckpointError, match=message):
        IRISAgent.from_pretrained(path)


def test_weights_that_do_not_fit_their_configuration_are_refused(tmp_path: Path, agent: IRISAgent) -> None:
    path = tmp_path / "agent.safetensors"
    header = checkpoint.header(agent.config, 5)
    write_checkpoint(path, header, agent.state_dict())
    with pytest.raises(CheckpointError, match=r"action_embedding\.weight \[3, 16\] in the file, \[5, 16\] here"):
        IRISAgent.from_pretrained(path)
