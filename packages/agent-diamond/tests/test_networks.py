"""What is computed faster than straightforwardly gives the same numbers."""

from __future__ import annotations

import logging
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.profiler import profile

from wm_agent_diamond import denoiser as denoiser_module
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.networks.compiled import CompiledNetwork
from wm_agent_diamond.networks.convolutions import Conv2d, Upsample
from wm_agent_diamond.networks.group_norm import AdaGroupNorm, modulations
from wm_agent_diamond.presets import preset

few = settings(deadline=None, max_examples=10)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
@few
def test_folded_upsampling_equals_upsampling_and_convolution(batch: int, channels: int, h: int, w: int) -> None:
    upsample = Upsample(channels, folded=True)
    x = torch.randn(batch, channels, h, w)
    whole = upsample.conv(F.interpolate(x, scale_factor=2, mode="nearest"))
    assert torch.allclose(upsample(x), whole, atol=1e-5)


def test_folded_upsampling_has_the_same_gradient() -> None:
    x = torch.randn(2, 4, 3, 5)
    gradients = []
    upsample = Upsample(4, folded=False)
    for upsample.folded in (False, True):
        upsample.zero_grad()
        upsample(x).square().sum().backward()
        gradients.append([p.grad.clone() for p in upsample.parameters() if p.grad is not None])
    assert len(gradients[0]) == 2
    assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(*gradients, strict=True))


def test_folding_adds_nothing_to_the_weights() -> None:
    assert list(Upsample(4, folded=True).state_dict()) == ["conv.weight", "conv.bias"]


@pytest.mark.parametrize(("kernel", "stride", "size"), [(1, 1, 64), (3, 1, 8), (3, 2, 16)])
def test_convolutions_are_those_of_torch(kernel: int, stride: int, size: int) -> None:
    own = Conv2d(8, 16, kernel, stride=stride, padding=kernel // 2)
    x = torch.randn(1, 8, size, size)
    results, gradients = [], []
    for forward in (own.forward, lambda each: nn.Conv2d.forward(own, each)):
        own.zero_grad()
        result = forward(x)
        result.square().sum().backward()
        results.append(result)
        gradients.append(own.weight.grad.clone())  # type: ignore[union-attr]
    assert torch.allclose(*results, atol=1e-5)
    assert torch.allclose(*gradients, rtol=1e-4, atol=1e-3)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch was built without oneDNN")
def test_no_convolution_of_a_dream_is_left_to_the_slow_routine() -> None:
    agent = DiamondAgent.from_config(preset("paper"), action_size=3)
    frames = torch.zeros(1, 4, 3, 64, 64)
    with profile() as seen:
        agent.dream(frames, torch.zeros(1, 4, dtype=torch.long), None, 1)
    names = {event.key for event in seen.key_averages()}
    assert "aten::mkldnn_convolution" in names
    assert not {name for name in names if "slow_conv" in name}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("learning", [False, True])
def test_adaptive_norms_scale_and_shift(batch: int, learning: bool) -> None:
    norms = [AdaGroupNorm(4, 6, 2), AdaGroupNorm(8, 6, 8)]
    condition, x = torch.randn(batch, 6), torch.randn(batch, 8, 3, 3)
    before = x.clone()
    with torch.set_grad_enabled(learning):
        each = modulations(norms, condition)
        result = norms[1](x, each[1])
    assert torch.allclose(each[0], norms[0].linear(condition), atol=1e-6)
    scale, shift = norms[1].linear(condition)[:, :, None, None].chunk(2, dim=1)
    assert torch.allclose(result, F.group_norm(x, 1) * (1 + scale) + shift, atol=1e-5)
    assert torch.equal(x, before)


def test_frames_denoised_a_few_at_a_time_are_the_same() -> None:
    agent = DiamondAgent.from_config(preset("tiny"), action_size=3)
    nn.init.normal_(agent.denoiser.inner_model.conv_out.weight, std=0.1)
    obs, actions = torch.rand(5, 2, 3, 16, 16) * 2 - 1, torch.tensor([[0, 1]] * 5)
    noisy = torch.randn(5, 3, 16, 16)
    results = []
    for together in (5, 2):
        with patch.object(denoiser_module, "lanes_together", lambda config, obs, n=together: n), torch.no_grad():
            results.append(agent.denoiser.prepare([5.0, 1.0], obs, actions)(noisy, 1))
    with torch.no_grad():
        directly = agent.denoiser.denoise(noisy, torch.ones(5), obs, actions)
    for result in results:
        assert float((result - directly).abs().max()) <= 2.01 / 255
        assert float(((result - directly).abs() > 1e-4).float().mean()) < 0.01


class Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def test_a_network_that_cannot_be_compiled_goes_on_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def broken(graph: object, inputs: object) -> None:
        raise RuntimeError("no compiler here")

    with patch.object(torch, "compile", lambda network, dynamic: torch._dynamo.optimize(broken)(network)):
        network = CompiledNetwork(Doubling(), compiled=True)
    with caplog.at_level(logging.WARNING):
        outputs = [network(torch.ones(2)) for _ in range(2)]
    assert [output.tolist() for output in outputs] == [[2.0, 2.0], [2.0, 2.0]]
    assert len(caplog.records) == 1
    assert "torch.compile failed" in caplog.text
