"""Reading a published checkpoint from disk: what is accepted, and what is refused and how."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from diamond_formula import published_shapes, published_tensors
from safetensors.torch import save_file
from torch import Tensor

from wm_agent_diamond import published
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config import ComputeConfig, DiamondConfig
from wm_agent_diamond.presets import preset
from wm_core.errors import CheckpointError


@pytest.fixture
def tensors() -> dict[str, Tensor]:
    """Like a published checkpoint in names and shapes; the numbers are arbitrary."""
    return {name: torch.full((), 0.01).expand(shape) for name, shape in published_shapes().items()}


def saved(tensors: dict[str, Tensor], directory: Path) -> Path:
    file = directory / "Breakout.pt"
    torch.save(tensors, file)
    return file


def test_a_published_checkpoint_has_these_names_and_shapes() -> None:
    own = DiamondAgent.from_config(DiamondConfig(), action_size=6).state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in own.items()} == published_shapes()
    assert len(own) == 372
    assert sum(tensor.numel() for tensor in own.values()) == 13_537_994


@pytest.mark.parametrize("actions", [4, 18])
def test_a_published_file_becomes_an_agent_with_its_number_of_actions(tmp_path: Path, actions: int) -> None:
    tensors = published_tensors(actions)
    agent = DiamondAgent.from_pretrained(saved(tensors, tmp_path))
    assert agent.action_size == actions
    assert not agent.training
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in agent.state_dict().items())


def test_the_fourier_frequencies_are_those_of_the_file(tmp_path: Path) -> None:
    agent = DiamondAgent.from_pretrained(saved(published_tensors(), tmp_path))
    expected = published_tensors()["denoiser.inner_model.noise_emb.weight"]
    assert torch.equal(agent.denoiser.inner_model.noise_emb.weight, expected)


def test_a_file_without_the_fourier_frequencies_is_refused(tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    del tensors["denoiser.inner_model.noise_emb.weight"]
    with pytest.raises(CheckpointError, match=r"1 missing: denoiser\.inner_model\.noise_emb\.weight"):
        DiamondAgent.from_pretrained(saved(tensors, tmp_path))


def test_it_can_be_computed_otherwise(tmp_path: Path) -> None:
    compute = ComputeConfig(precision="bfloat16", channels_last=False)
    agent = DiamondAgent.from_pretrained(saved(published_tensors(), tmp_path), compute=compute)
    assert agent.config.compute == compute
    assert agent.actor_critic.actor_linear.weight.dtype == torch.float32


def test_what_is_missing_unexpected_and_of_another_shape_is_named(tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    del tensors["rew_end_model.head.2.weight"]
    tensors["denoiser.extra"] = torch.zeros(1)
    tensors["actor_critic.critic_linear.weight"] = torch.zeros(1, 256)
    with pytest.raises(CheckpointError) as refusal:
        DiamondAgent.from_pretrained(saved(tensors, tmp_path))
    message = str(refusal.value)
    assert "Breakout.pt does not fit" in message
    assert "missing: rew_end_model.head.2.weight" in message
    assert "unexpected: denoiser.extra" in message
    assert "actor_critic.critic_linear.weight [1, 256] in the file, [1, 512] here" in message


def test_weights_that_are_not_finite_are_named(tmp_path: Path) -> None:
    bias = torch.full((5, 512), float("nan"))
    tensors = published_tensors() | {"rew_end_model.head.2.weight": bias}
    with pytest.raises(CheckpointError, match=r"NaN or infinite: rew_end_model\.head\.2\.weight"):
        DiamondAgent.from_pretrained(saved(tensors, tmp_path))


def test_half_precision_weights_are_widened(tensors: dict[str, Tensor]) -> None:
    halved = {name: tensor.half() for name, tensor in tensors.items()}
    assert all(tensor.dtype == torch.float32 for tensor in published.check(halved, "half.pt").weights.values())


def test_a_converted_file_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "Breakout.safetensors"
    save_file(published_tensors(4), file)
    assert published.load(file).action_size == 4


def test_another_agents_checkpoint_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"no published DIAMOND checkpoint: it holds tokenizer\.weight"):
        published.check({"tokenizer.weight": torch.zeros(1)}, "iris.pt")


def test_a_file_without_a_policy_is_refused(tensors: dict[str, Tensor]) -> None:
    del tensors[published.ACTIONS]
    with pytest.raises(CheckpointError, match=r"lacks the vector actor_critic\.actor_linear\.bias"):
        published.check(tensors, "half.pt")


def test_a_nested_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.pt"
    torch.save({"agent": {"weight": torch.zeros(1)}}, file)
    with pytest.raises(CheckpointError, match="'agent' is a dict"):
        published.load(file)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no weights file at"):
        DiamondAgent.from_pretrained(tmp_path / "never.pt")


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    file = saved({"a": torch.zeros(1000)}, tmp_path)
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(CheckpointError, match="not a file of plain tensors"):
        published.load(file)


class Malicious:
    """Leaves a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("save", ["torch", "pickle"])
def test_a_pickle_is_refused_and_not_executed(tmp_path: Path, save: str) -> None:
    file, trace = tmp_path / "Breakout.pt", tmp_path / "executed"
    if save == "torch":
        torch.save({"weights": Malicious(trace)}, file)
    else:
        file.write_bytes(pickle.dumps({"weights": Malicious(trace)}))
    with pytest.raises(CheckpointError, match="nothing in it was executed"):
        published.load(file)
    assert not trace.exists()


@pytest.mark.parametrize("name", ["tiny", "paper"])
def test_a_saved_agent_loads_as_it_was(tmp_path: Path, name: str) -> None:
    agent = DiamondAgent.from_config(preset(name), action_size=3, seed=5)
    file = tmp_path / "agent.safetensors"
    agent.save(file)
    again = DiamondAgent.from_pretrained(file)
    assert again.config == agent.config
    assert again.action_size == 3
    weights = agent.state_dict()
    assert all(torch.equal(tensor, weights[key]) for key, tensor in again.state_dict().items())
