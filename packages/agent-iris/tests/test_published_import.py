"""Reading a published checkpoint from disk: what is accepted, and what is refused and how."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from iris_formula import lpips_shapes, published_constants, published_shapes, published_tensors

from wm_agent_iris import published
from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.tokenizer.lpips import build_perceptual_loss
from wm_core.errors import CheckpointError


@pytest.fixture(scope="module")
def tensors() -> dict[str, torch.Tensor]:
    """Like a published checkpoint in names and shapes; the numbers are arbitrary."""
    names = published_shapes() | {n: tuple(t.shape) for n, t in published_constants().items()}
    return {name: torch.full((), 0.01).expand(shape) for name, shape in names.items()}


def test_a_published_checkpoint_has_624_tensors() -> None:
    assert len(published_tensors()) + len(lpips_shapes()) == 624


def test_a_published_file_becomes_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "last.pt"
    torch.save(published_tensors(actions=4), file)
    agent = IRISAgent.from_pretrained(file)
    assert agent.action_size == 4
    assert not agent.training
    bias = published_tensors(actions=4)["actor_critic.actor_linear.bias"]
    assert torch.equal(agent.actor_critic.actor.bias, bias)


def test_queries_keys_and_values_are_packed_in_this_order(tensors: dict[str, torch.Tensor]) -> None:
    name = "world_model.transformer.blocks.3.attn."
    marked = {f"{name}{part}.bias": torch.full((256,), float(i)) for i, part in enumerate(("query", "key", "value"))}
    converted = published.convert(tensors | marked, "test").weights
    packed = converted["world_model.transformer.blocks.3.attention.qkv.bias"]
    assert packed.reshape(3, 256).mean(1).tolist() == [0.0, 1.0, 2.0]


def test_lpips_is_set_apart(tensors: dict[str, torch.Tensor]) -> None:
    lpips = {name: torch.full((), 0.01).expand(shape) for name, shape in lpips_shapes().items()}
    converted = published.convert(tensors | lpips, "test")
    assert converted.lpips.keys() == lpips.keys()
    assert not any("lpips" in name for name in converted.weights)
    assert build_perceptual_loss(converted.lpips).calibrated


def test_a_missing_tensor_is_named(tensors: dict[str, torch.Tensor]) -> None:
    rest = {name: tensor for name, tensor in tensors.items() if name != "actor_critic.conv2.bias"}
    with pytest.raises(CheckpointError, match=r"last\.pt is no published .* lacks actor_critic\.conv2\.bias"):
        published.convert(rest, "last.pt")


def test_an_unknown_tensor_is_named(tensors: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointError, match=r"unknown tokenizer\.extra"):
        published.convert(tensors | {"tokenizer.extra": torch.zeros(1)}, "last.pt")


def test_another_configuration_is_refused_with_both_shapes(tmp_path: Path, tensors: dict[str, torch.Tensor]) -> None:
    file = tmp_path / "last.pt"
    torch.save(tensors | {"actor_critic.critic_linear.weight": torch.zeros(1, 256)}, file)
    with pytest.raises(CheckpointError, match=r"actor_critic\.critic\.weight \[1, 256\] in the file, \[1, 512\] here"):
        IRISAgent.from_pretrained(file)


def test_another_agents_checkpoint_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"no published IRIS checkpoint: it holds denoiser\.weight"):
        published.convert({"denoiser.weight": torch.zeros(1)}, "diamond.pt")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no weights file at"):
        IRISAgent.from_pretrained(tmp_path / "never.pt")


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "last.pt"
    torch.save({"a": torch.zeros(1000)}, file)
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(CheckpointError, match="not a file of plain tensors"):
        published.load(file)


def test_random_bytes_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "last.pt"
    file.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(CheckpointError, match=str(file)):
        published.load(file)


class Malicious:
    """Leaves a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("save", ["torch", "pickle"])
def test_a_pickle_is_refused_and_not_executed(tmp_path: Path, save: str) -> None:
    file, trace = tmp_path / "last.pt", tmp_path / "executed"
    if save == "torch":
        torch.save({"weights": Malicious(trace)}, file)
    else:
        file.write_bytes(pickle.dumps({"weights": Malicious(trace)}))
    with pytest.raises(CheckpointError, match="nothing in it was executed"):
        published.load(file)
    assert not trace.exists()


def test_a_nested_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "last.pt"
    torch.save({"model": {"weight": torch.zeros(1)}}, file)
    with pytest.raises(CheckpointError, match="'model' is a dict"):
        published.load(file)
