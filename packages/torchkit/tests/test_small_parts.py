from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from wm_core.errors import UsageError
from wm_torchkit import device as devices
from wm_torchkit.ema import ExponentialMovingAverage
from wm_torchkit.frames import FrameLayout, to_network, to_uint8
from wm_torchkit.nan_guard import NonFiniteError, check_parameters, guarded_update
from wm_torchkit.video import frame_grid, write_gif, write_mp4, write_png

# Devices


def test_auto_prefers_cuda_then_mps_then_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert devices.resolve_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.resolve_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.resolve_device("auto") == torch.device("cuda")
    assert devices.resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(UsageError, match="this machine has cuda, cuda:0, cuda:1, mps, cpu"):
        devices.resolve_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:1", ""])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown device"):
        devices.resolve_device(name)


def test_an_absent_device_says_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UsageError, match="'cuda' is not there; this machine has cpu"):
        devices.resolve_device("cuda")


def test_bfloat16_is_used_inside_its_context_only() -> None:
    layer, x = nn.Linear(4, 4), torch.rand(2, 4)
    cpu = torch.device("cpu")
    with devices.autocast(cpu, "bfloat16"):
        assert layer(x).dtype == torch.bfloat16
    with devices.autocast(cpu, "float32"):
        assert layer(x).dtype == torch.float32
    assert layer.weight.dtype == torch.float32
    with pytest.raises(UsageError, match="float16"):
        devices.autocast(cpu, "float16")  # type: ignore[arg-type]


# Moving averages


def test_the_average_follows_the_source_by_its_decay() -> None:
    source = nn.BatchNorm1d(1)
    average = ExponentialMovingAverage(source, 0.9)
    with torch.no_grad():
        source.weight.fill_(2.0)
        source.running_mean.fill_(5.0)
    average.update()
    assert average.module.weight.item() == pytest.approx(1.1)
    assert average.module.running_mean.item() == 5.0
    assert not average.module.weight.requires_grad
    assert source.weight.requires_grad


def test_decay_0_is_a_hard_copy_and_the_state_comes_back() -> None:
    source = nn.Linear(3, 2)
    average = ExponentialMovingAverage(source, 0.0)
    nn.init.normal_(source.weight)
    average.update()
    assert average.module.weight.equal(source.weight)
    other = ExponentialMovingAverage(nn.Linear(3, 2), 0.0)
    other.load_state_dict(average.state_dict())
    assert other.module.weight.equal(source.weight)
    with pytest.raises(UsageError, match="decay"):
        ExponentialMovingAverage(source, 1.0)


# The NaN guard


def model_and_optimizer() -> tuple[nn.Sequential, torch.optim.SGD]:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def test_a_guarded_update_clips_and_steps_as_one_written_out() -> None:
    torch.manual_seed(0)
    model, optimizer = model_and_optimizer()
    twin, twin_optimizer = model_and_optimizer()
    twin.load_state_dict(model.state_dict())
    x = torch.rand(5, 2)
    norm = guarded_update(100 * model(x).square().mean(), optimizer, model.named_parameters(), 1.0, "it")
    (100 * twin(x).square().mean()).backward()
    expected = nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
    twin_optimizer.step()
    assert norm == expected
    assert norm > 1
    assert all(a.equal(b) for a, b in zip(model.parameters(), twin.parameters(), strict=True))


def test_a_loss_that_is_not_finite_is_named_and_leaves_the_weights() -> None:
    model, optimizer = model_and_optimizer()
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(NonFiniteError, match="the loss of the critic is not finite"):
        guarded_update(
            model(torch.full((1, 2), torch.nan)).sum(), optimizer, model.named_parameters(), 1.0, "the critic"
        )
    assert all(a.equal(b) for a, b in zip(before, model.parameters(), strict=True))


def test_a_gradient_that_is_not_finite_is_named() -> None:
    model, optimizer = model_and_optimizer()
    with torch.no_grad():
        model[1].bias.zero_()
    loss = model[1].bias.sqrt().sum() + model(torch.rand(1, 2)).square().sum()
    with pytest.raises(NonFiniteError, match=r"a gradient of it is not finite: '1\.bias' has 1 of 1 values"):
        guarded_update(loss, optimizer, model.named_parameters(), 1.0, "it")


def test_a_parameter_that_is_not_finite_is_named() -> None:
    model, _ = model_and_optimizer()
    check_parameters(model)
    with torch.no_grad():
        model[0].weight[1, 0] = torch.inf
    with pytest.raises(NonFiniteError, match=r"'0\.weight' has 1 of 4"):
        check_parameters(model)


# Frames


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((8, 9), (8, 9, 1)),
        ((8, 9, 3), (8, 9, 3)),
        ((3, 8, 9), (8, 9, 3)),
        ((1, 8, 9), (8, 9, 1)),
        ((3, 9, 3), (3, 9, 3)),
    ],
)
def test_image_layouts_become_channels_last(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    layout = FrameLayout(gymnasium.spaces.Box(0, 255, shape, np.uint8))
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    assert layout.shape == expected
    out = layout.to_hwc(image)
    assert out.shape == expected
    if shape[0] in (1, 3) and len(shape) == 3 and shape[2] not in (1, 3):
        assert (out[2, 4] == image[:, 2, 4]).all()
    else:
        assert (out.reshape(shape) == image).all()


@pytest.mark.parametrize(
    "space",
    [
        gymnasium.spaces.Discrete(3),
        gymnasium.spaces.Box(0, 1, (8, 8, 3), np.float32),
        gymnasium.spaces.Box(0, 255, (4, 8, 8), np.uint8),
        gymnasium.spaces.Box(0, 255, (8,), np.uint8),
    ],
)
def test_spaces_that_are_no_images_are_refused(space: Any) -> None:
    with pytest.raises(UsageError, match="expected"):
        FrameLayout(space)


def test_an_observation_outside_its_space_is_refused() -> None:
    layout = FrameLayout(gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8))
    with pytest.raises(UsageError, match="promises"):
        layout.to_hwc(np.zeros((8, 8, 3), np.float32))  # type: ignore[arg-type]


def test_every_pixel_value_survives_the_way_to_a_network_and_back() -> None:
    frames = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16, 1)
    for low, high in ((0.0, 1.0), (-1.0, 1.0), (-0.5, 0.5)):
        images = to_network(frames, low, high)
        assert images.shape == (1, 1, 16, 16)
        assert images.is_contiguous()
        assert (images.min().item(), images.max().item()) == (low, high)
        assert to_uint8(images, low, high).equal(frames)
    assert to_network(frames).equal(frames.movedim(-1, -3).float() / 255)
    with pytest.raises(UsageError, match="uint8"):
        to_network(frames.float())


# Files for people


def test_a_grid_holds_every_frame_in_its_place() -> None:
    frames = np.arange(6, dtype=np.uint8).reshape(2, 3, 1, 1, 1).repeat(2, 2).repeat(2, 3)
    grid = frame_grid(frames, scale=2, gap=1)
    assert grid.shape == (2 * 4 + 1, 3 * 4 + 2, 3)
    assert grid[::5, ::5, 0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (grid[4] == 0).all()
    with pytest.raises(UsageError, match="rows, columns"):
        frame_grid(frames[0])


def test_pngs_and_gifs_hold_what_was_written(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    write_png(tmp_path / "new" / "a.png", image)
    assert (np.asarray(Image.open(tmp_path / "new" / "a.png")) == image).all()
    film = np.zeros((4, 6, 6, 1), np.uint8)
    film[:, :, :] = np.array([0, 80, 160, 240], np.uint8).reshape(4, 1, 1, 1)
    write_gif(tmp_path / "a.gif", film, fps=10)
    with Image.open(tmp_path / "a.gif") as gif:
        assert (gif.n_frames, gif.info["duration"], gif.info["loop"]) == (4, 100, 0)


def test_mp4s_play_with_odd_sides(tmp_path: Path) -> None:
    import av

    film = np.full((5, 33, 35, 3), 200, np.uint8)
    write_mp4(tmp_path / "a.mp4", film)
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 5
    assert frames[0].shape == (34, 36, 3)
    assert np.abs(frames[0].astype(int) - 200).max() < 10


@pytest.mark.parametrize("write", [write_gif, write_mp4])
def test_films_without_frames_or_of_floats_are_refused(tmp_path: Path, write: Any) -> None:
    with pytest.raises(UsageError, match="T of 1 or more"):
        write(tmp_path / "a", np.zeros((0, 4, 4, 3), np.uint8))
    with pytest.raises(UsageError, match="expected uint8"):
        write(tmp_path / "a", np.zeros((1, 4, 4, 3), np.float32))


def test_a_missing_pyav_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(UsageError, match=r"wm-torchkit\[video\]"):
        write_mp4(tmp_path / "a.mp4", np.zeros((1, 4, 4, 3), np.uint8))
