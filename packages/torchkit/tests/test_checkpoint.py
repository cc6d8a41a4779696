from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from pydantic import BaseModel
from torch import nn

from wm_core.errors import CheckpointError
from wm_torchkit import checkpoint
from wm_torchkit.checkpoint import (
    CheckpointHeader,
    library_versions,
    read_checkpoint,
    read_header,
    stored_configuration,
    write_checkpoint,
)
from wm_torchkit.weights import load_weights, read_torch_weights

HEADER = CheckpointHeader(
    agent="iris",
    agent_format="iris/1",
    config={"lr": 1e-4, "tokenizer": {"codes": 512}},
    env={"id": "wm/Catch-v0"},
    counters={"epoch": 3},
    libraries={"wm-agent-iris": "0.1.0", "torch": "2.6.0"},
    notes={"lpips": "uniform weights"},
)


def tensors() -> dict[str, torch.Tensor]:
    return {
        "a.weight": torch.arange(6.0).reshape(2, 3),
        "half": torch.ones(2, dtype=torch.bfloat16),
        "n": torch.tensor(7),
    }


def written(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "iris.safetensors"
    write_checkpoint(path, HEADER, tensors())
    return path


def test_header_and_tensors_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    digest = write_checkpoint(path, HEADER, tensors())
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    header, loaded = read_checkpoint(path, "iris", "iris/1")
    assert header == HEADER
    assert read_header(path) == HEADER
    assert loaded.keys() == tensors().keys()
    assert all(loaded[name].equal(value) and loaded[name].dtype == value.dtype for name, value in tensors().items())


class Codes(BaseModel):
    codes: int


def test_a_configuration_comes_back_with_the_number_of_actions_beside_it() -> None:
    header = HEADER.model_copy(update={"config": {"codes": 5, "action_size": 3}})
    found = stored_configuration(header, Path("x"), Codes, "action_size", "wm-agent-iris")
    assert found == (Codes(codes=5), 3)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"codes": 5}, "does not say how many actions"),
        ({"codes": 5, "action_size": 0}, "does not say how many actions"),
        ({"codes": "many", "action_size": 3}, r"does not read: codes: .* use the wm-agent-iris it was .* \(0\.1\.0\)"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_named(config: dict[str, Any], message: str) -> None:
    header = HEADER.model_copy(update={"config": config})
    with pytest.raises(CheckpointError, match=message):
        stored_configuration(header, Path("x"), Codes, "action_size", "wm-agent-iris")


def test_tensors_that_share_memory_are_written_each(tmp_path: Path) -> None:
    weight = torch.rand(4, 4)
    write_checkpoint(tmp_path / "x.safetensors", HEADER, {"a": weight, "b": weight, "c": weight[:2].t()})
    loaded = read_checkpoint(tmp_path / "x.safetensors", "iris", "iris/1")[1]
    assert loaded["b"].equal(weight)
    assert loaded["c"].equal(weight[:2].t())


def test_any_safetensors_reader_can_read_the_file(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert safetensors.torch.load_file(path)["a.weight"].equal(tensors()["a.weight"])


def test_headers_of_any_length_are_read(tmp_path: Path) -> None:
    """A header's length stands first in the file, and its bytes may be those that begin other formats."""
    path = tmp_path / "x.safetensors"
    starts = set()
    for padding in range(0, 260, 4):
        write_checkpoint(path, HEADER.model_copy(update={"notes": {"x": "y" * padding}}), tensors())
        starts.add(path.read_bytes()[0])
        assert len(read_checkpoint(path, "iris", "iris/1")[0].notes["x"]) == padding
    assert 0x80 in starts


def as_is(path: Path) -> None:
    path.write_bytes(b"hello, this is no checkpoint at all")


def damage_header(path: Path) -> None:
    path.write_bytes(safetensors.torch.save(tensors(), {"wmbench": "{"}))


def other_format(path: Path) -> None:
    text = json.dumps({**HEADER.model_dump(), "format": "wmbench.checkpoint/0"})
    path.write_bytes(safetensors.torch.save(tensors(), {"wmbench": text}))


def missing_field(path: Path) -> None:
    text = json.dumps({"format": checkpoint.FORMAT, "agent": "iris"})
    path.write_bytes(safetensors.torch.save(tensors(), {"wmbench": text}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda p: p.unlink(), "cannot read a checkpoint at .*No such file"),
        (lambda p: (p.unlink(), p.mkdir()), "is a directory"),
        (lambda p: p.write_bytes(b""), "is empty"),
        (lambda p: p.write_bytes(p.read_bytes()[:-5]), "cut or damaged"),
        (lambda p: p.write_bytes(p.read_bytes()[:40]), "cut or damaged"),
        (lambda p: p.write_bytes(p.read_bytes()[:5]), "not a checkpoint"),
        (as_is, "not a checkpoint"),
        (lambda p: torch.save(tensors(), p), "torch or pickle file"),
        (lambda p: p.write_bytes(pickle.dumps({})), "torch or pickle file"),
        (lambda p: safetensors.torch.save_file(tensors(), p), "no wmbench header"),
        (damage_header, "damaged wmbench header"),
        (missing_field, "damaged wmbench header"),
        (other_format, "format 'wmbench.checkpoint/0'; this wm-torchkit reads 'wmbench.checkpoint/1'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, damage: Any, words: str) -> None:
    path = written(tmp_path)
    damage(path)
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(path, "iris", "iris/1")


def test_a_checkpoint_of_another_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="checkpoint of 'iris', not of 'diamond'; use --agent iris"):
        read_checkpoint(written(tmp_path), "diamond", "diamond/1")


def test_a_stale_format_is_refused_with_the_versions_that_wrote_it(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"'iris/1'; this version reads 'iris/2'.*wm-agent-iris 0\.1\.0"):
        read_checkpoint(written(tmp_path), "iris", "iris/2")


def test_library_versions_name_what_is_missing() -> None:
    versions = library_versions("wm-agent-nobody")
    assert versions["torch"] == torch.__version__
    assert versions["wm-agent-nobody"] == "not installed"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wm_torchkit.atomic_files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(path, HEADER, {"b": torch.zeros(3)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# Weights into networks


def test_weights_that_fit_are_loaded() -> None:
    a, b = nn.Linear(3, 2), nn.Linear(3, 2)
    load_weights(b, a.state_dict(), "file")
    assert a.weight.equal(b.weight)


def test_what_does_not_fit_is_named_with_shapes_and_counts() -> None:
    model = nn.Sequential(*[nn.Linear(3, 2) for _ in range(5)])
    before = model[4].weight.clone()
    tensors = {name: torch.zeros(value.shape[0] + 1, *value.shape[1:]) for name, value in model.state_dict().items()}
    tensors["4.weight"] = torch.zeros(2, 3)
    del tensors["0.bias"]
    tensors["extra"] = torch.zeros(1)
    with pytest.raises(CheckpointError) as caught:
        load_weights(model, tensors, "last.safetensors")
    message = str(caught.value)
    assert "last.safetensors does not fit this Sequential of 10 tensors" in message
    assert "1 missing: 0.bias" in message
    assert "1 unexpected: extra" in message
    assert "8 of another shape: 0.weight [3, 3] in the file, [2, 3] here" in message
    assert "and 5 more" in message
    assert model[4].weight.equal(before)


class Evil:
    def __reduce__(self) -> Any:
        return print, ("executed",)


def test_torch_files_of_others_are_read_without_executing_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"a": torch.ones(2), "epoch": 3}, tmp_path / "good.pt")
    assert read_torch_weights(tmp_path / "good.pt")["a"].equal(torch.ones(2))
    torch.save({"a": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(CheckpointError, match="nothing in it was executed"):
        read_torch_weights(tmp_path / "evil.pt")
    assert "executed" not in capsys.readouterr().out
    (tmp_path / "cut.pt").write_bytes((tmp_path / "good.pt").read_bytes()[:100])
    with pytest.raises(CheckpointError, match="plain tensors that torch can load"):
        read_torch_weights(tmp_path / "cut.pt")
    torch.save(torch.ones(2), tmp_path / "tensor.pt")
    with pytest.raises(CheckpointError, match="holds a Tensor"):
        read_torch_weights(tmp_path / "tensor.pt")
    with pytest.raises(CheckpointError, match="no weights file"):
        read_torch_weights(tmp_path / "none.pt")
