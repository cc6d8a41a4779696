from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch
from iris_formula import lpips_shapes
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from wm_agent_iris.tokenizer import lpips_weights
from wm_agent_iris.tokenizer.lpips import build_perceptual_loss
from wm_core.errors import CheckpointError


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """torchvision's cache is an empty folder; its VGG16 would be the path returned."""
    path = tmp_path / "hub" / "checkpoints" / lpips_weights.TORCHVISION_FILE
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    return path


@pytest.fixture(scope="module")
def calibrated() -> dict[str, Tensor]:
    """Tensors under LPIPS's own names, the numbers arbitrary but alive at every depth."""
    generator = torch.Generator().manual_seed(3)
    tensors = {}
    for name, shape in lpips_shapes(prefix="").items():
        scale = (2 / (9 * shape[1])) ** 0.5 if len(shape) == 4 and shape[-1] == 3 else 0.1
        tensors[name] = scale * torch.randn(shape, generator=generator)
        if name.startswith("lin"):
            tensors[name] = tensors[name].abs()
    return tensors


def vgg16(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same convolutions under torchvision's names, beside a classifier."""
    renamed = {}
    for name, tensor in tensors.items():
        if name.startswith("net."):
            _, _, index, kind = name.split(".")
            renamed[f"features.{index}.{kind}"] = tensor
    return renamed | {"classifier.0.weight": torch.zeros(2, 2)}


def channel_weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if name.startswith("lin")}


@pytest.fixture
def images(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.rand(2, 3, 32, 32, generator=generator) * 2 - 1, torch.rand(2, 3, 32, 32, generator=generator) * 2 - 1


def test_it_is_the_formula_of_the_paper(calibrated: dict[str, Tensor], images: tuple[Tensor, Tensor]) -> None:
    """Written out plainly, layer by layer of VGG16, in float64."""
    shift = torch.tensor([-0.030, -0.088, -0.188]).double()[:, None, None]
    scale = torch.tensor([0.458, 0.448, 0.450]).double()[:, None, None]
    layers = {int(name.split(".")[2]): name[: -len(".weight")] for name in calibrated if name.endswith("3.weight")}
    layers |= {
        int(name.split(".")[2]): name[: -len(".weight")]
        for name in calibrated
        if name.startswith("net.") and name.endswith("weight")
    }
    pools, taps = (4, 9, 16, 23), (2, 7, 14, 21, 28)

    def features(image: Tensor) -> list[Tensor]:
        h, found = (image.double() - shift) / scale, []
        for index in range(30):
            if index in pools:
                h = F.max_pool2d(h, 2)
            elif index in layers:
                name = layers[index]
                weight, bias = calibrated[f"{name}.weight"].double(), calibrated[f"{name}.bias"].double()
                h = F.relu(F.conv2d(h, weight, bias, padding=1))
                if index in taps:
                    found.append(h / (h.square().sum(1, keepdim=True).sqrt() + 1e-10))
        return found

    expected = torch.zeros(2).double()
    for depth, (a, b) in enumerate(zip(features(images[0]), features(images[1]), strict=True)):
        weights = calibrated[f"lin{depth}.model.1.weight"].double()
        expected += F.conv2d((a - b).square(), weights).mean((1, 2, 3))
    loss = build_perceptual_loss(calibrated)
    assert float(loss(*images)) == pytest.approx(float(expected.mean()), rel=1e-4)


def test_equal_images_have_no_distance(images: tuple[Tensor, Tensor]) -> None:
    loss = build_perceptual_loss("random")
    assert float(loss(images[0], images[0])) == 0
    assert float(loss(*images)) > 0.01


def test_the_gradient_reaches_the_image_alone(images: tuple[Tensor, Tensor]) -> None:
    loss = build_perceptual_loss("random")
    image, target = (i.clone().requires_grad_() for i in images)
    loss(image, target).backward()
    assert target.grad is None
    assert image.grad is not None
    assert float(image.grad.abs().sum()) > 0
    assert not any(parameter.requires_grad for parameter in loss.parameters())


def test_features_that_are_all_zero_give_no_nan(calibrated: dict[str, Tensor]) -> None:
    dead = {
        name: torch.full_like(tensor, -1.0) if name.endswith("bias") else torch.zeros_like(tensor)
        for name, tensor in calibrated.items()
    }
    image = torch.zeros(1, 3, 32, 32, requires_grad=True)
    build_perceptual_loss(dead)(image, torch.ones(1, 3, 32, 32)).backward()
    assert image.grad is not None
    assert bool(image.grad.isfinite().all())


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_weights_from_a_path(tmp_path: Path, calibrated: dict[str, Tensor], suffix: str) -> None:
    path = tmp_path / f"lpips{suffix}"
    (torch.save if suffix == ".pt" else save_file)(calibrated, path)
    loss = build_perceptual_loss(path)
    assert loss.calibrated
    assert loss.source == f"VGG16, calibrated channel weights, from {path}"


def test_weights_from_a_published_checkpoint(
    tmp_path: Path, calibrated: dict[str, Tensor], images: tuple[Tensor, Tensor]
) -> None:
    path = tmp_path / "last.pt"
    inside = {f"tokenizer.lpips.{name}": tensor for name, tensor in calibrated.items()}
    torch.save(inside | {"actor_critic.conv1.weight": torch.zeros(1)}, path)
    loss = build_perceptual_loss(path)
    assert loss.calibrated
    assert torch.equal(loss(*images), build_perceptual_loss(calibrated)(*images))


def test_channel_weights_alone_take_vgg16_from_the_cache(
    tmp_path: Path, calibrated: dict[str, Tensor], empty_cache: Path, images: tuple[Tensor, Tensor]
) -> None:
    path = tmp_path / "vgg.pth"
    torch.save(channel_weights(calibrated), path)
    with pytest.raises(CheckpointError, match="channel weights alone"):
        build_perceptual_loss(path)
    torch.save(vgg16(calibrated), empty_cache)
    loss = build_perceptual_loss(path)
    assert loss.calibrated
    assert torch.equal(loss(*images), build_perceptual_loss(calibrated)(*images))


def test_vgg16_from_the_cache_has_uniform_channel_weights(calibrated: dict[str, Tensor], empty_cache: Path) -> None:
    torch.save(vgg16(calibrated), empty_cache)
    loss = build_perceptual_loss()
    assert not loss.calibrated
    assert loss.source == f"VGG16, uniform channel weights, from {empty_cache}"
    assert torch.equal(loss.get_buffer("channel_weights_2").flatten(), torch.full((256,), 0.2))


def test_without_any_weights_it_says_so_once(caplog: pytest.LogCaptureFixture, images: tuple[Tensor, Tensor]) -> None:
    with caplog.at_level(logging.INFO):
        loss = build_perceptual_loss()
        loss(*images)
        loss(*images)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "random features, uniform channel weights, from no file" in caplog.text


def test_random_features_are_the_same_each_time(images: tuple[Tensor, Tensor]) -> None:
    torch.manual_seed(1)
    first = build_perceptual_loss("random")
    torch.manual_seed(2)
    assert torch.equal(first(*images), build_perceptual_loss("random")(*images))


def test_a_file_without_such_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    torch.save({"encoder.weight": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match="no LPIPS or VGG16 weights"):
        build_perceptual_loss(path)


def test_incomplete_weights_are_refused(calibrated: dict[str, Tensor]) -> None:
    rest = {name: tensor for name, tensor in calibrated.items() if name != "net.slice3.12.bias"}
    with pytest.raises(CheckpointError, match="13 convolutions of VGG16"):
        build_perceptual_loss(rest)


def test_missing_channel_weights_are_refused(calibrated: dict[str, Tensor]) -> None:
    rest = {name: tensor for name, tensor in calibrated.items() if not name.startswith("lin3")}
    with pytest.raises(CheckpointError, match="channel weights for 64, 128, 256, 512, 512"):
        build_perceptual_loss(rest)
