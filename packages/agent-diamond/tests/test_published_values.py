"""The numbers of the published implementation, on weights and inputs given by formula (see diamond_formula.py).

`published_values.json` holds them: a large output by its shape, mean, standard deviation and values at flat indices.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from diamond_formula import images, integers, noise, published_tensors, u
from torch import Tensor

from wm_agent_diamond import published
from wm_agent_diamond.actor_critic_loss import compute_lambda_returns
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config import ComputeConfig, DiamondConfig, SamplerConfig
from wm_agent_diamond.rew_end_model import RewEndOutput
from wm_agent_diamond.sampler import sample_next_frame, schedule

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "published_values.json").read_text())
SIGMAS = (5.0, 1.0, 0.3, 0.002)
SAMPLERS = ((1, 3), (2, 3), (1, 10))
LEVEL = 2 / 255
PLAIN = ComputeConfig(channels_last=False, fold_upsampling=False)
COMPUTE = {"as by default": ComputeConfig(), "plain": PLAIN}


def published_agent(compute: ComputeConfig) -> DiamondAgent:
    agent = DiamondAgent.from_config(DiamondConfig(compute=compute), action_size=6)
    agent.load_state_dict(published.check(published_tensors(), "the formula").weights)
    return agent


@pytest.fixture(scope="module", params=COMPUTE)
def agent(request: pytest.FixtureRequest) -> DiamondAgent:
    """The paper's configuration."""
    return published_agent(COMPUTE[request.param])


@pytest.fixture(scope="module")
def default_agent() -> DiamondAgent:
    return published_agent(ComputeConfig())


@pytest.fixture(scope="module")
def context() -> tuple[Tensor, Tensor]:
    return images("diamond.prev_obs", 2, 4, 3, 64, 64), integers("diamond.prev_act", 6, 2, 4)


@pytest.fixture(scope="module")
def noisy() -> Tensor:
    return noise("diamond.noisy", 2, 3, 64, 64)


def assert_published(tensor: Tensor, name: str, *, abs: float = 1e-5) -> None:
    """Means, and all values where the published output is small, to `abs`; single values of large ones to 10 times."""
    expected = PUBLISHED[name]
    if not isinstance(expected, dict):
        assert torch.allclose(tensor.double(), torch.tensor(expected, dtype=torch.float64), rtol=0, atol=abs)
        return
    assert list(tensor.shape) == expected["shape"]
    flat = tensor.detach().double().flatten()
    assert float(flat.mean()) == pytest.approx(expected["mean"], abs=abs)
    assert float(flat.std(unbiased=False)) == pytest.approx(expected["std"], abs=abs)
    assert [float(flat[int(i)]) for i in expected["at"]] == pytest.approx(list(expected["at"].values()), abs=10 * abs)


def assert_published_frames(frames: Tensor, name: str) -> None:
    """Frames of 8 bits: single pixels may be one level off, where rounding falls to the other side."""
    expected = PUBLISHED[name]
    assert list(frames.shape) == expected["shape"]
    flat = frames.double().flatten()
    assert float(flat.mean()) == pytest.approx(expected["mean"], abs=1e-4)
    assert float(flat.std(unbiased=False)) == pytest.approx(expected["std"], abs=1e-4)
    off = [abs(float(flat[int(i)]) - value) for i, value in expected["at"].items()]
    assert max(off) < 1.01 * LEVEL
    assert sum(each > 1e-4 for each in off) <= 1


@pytest.mark.parametrize("sigma", SIGMAS)
def test_conditioners(default_agent: DiamondAgent, sigma: float) -> None:
    assert_published(torch.stack(list(default_agent.denoiser.conditioners(torch.tensor(sigma)))), f"cond/{sigma:.3f}")


@pytest.mark.parametrize("sigma", SIGMAS)
def test_denoiser(agent: DiamondAgent, context: tuple[Tensor, Tensor], noisy: Tensor, sigma: float) -> None:
    sigmas = torch.full((2,), sigma)
    with torch.no_grad():
        output = agent.denoiser.network_output(noisy, sigmas, *context)
        denoised = agent.denoiser.denoise(noisy, sigmas, *context)
    assert_published(output, f"raw_F/{sigma:.3f}")
    _, c_out, c_skip = agent.denoiser.conditioners(sigmas).on_images()
    assert_published(c_skip * noisy + c_out * output, f"unquantised/{sigma:.3f}")
    assert_published_frames(denoised, f"denoised/{sigma:.3f}")


@pytest.mark.parametrize(("order", "steps"), SAMPLERS)
def test_noise_levels_of_the_sampler(order: int, steps: int) -> None:
    levels = schedule(SamplerConfig.model_validate({"order": order, "steps": steps}))
    assert levels == pytest.approx(PUBLISHED[f"sched/o{order}n{steps}"], abs=2e-6)


@pytest.mark.parametrize(("order", "steps"), SAMPLERS)
def test_samplers(default_agent: DiamondAgent, context: tuple[Tensor, Tensor], order: int, steps: int) -> None:
    config = SamplerConfig.model_validate({"order": order, "steps": steps})
    frames = sample_next_frame(default_agent.denoiser, config, *context, noise=noise("diamond.x_init", 2, 3, 64, 64))
    assert_published_frames(frames, f"sample/o{order}n{steps}")


@pytest.fixture(scope="module")
def burnt_in(agent: DiamondAgent) -> RewEndOutput:
    obs, actions = images("diamond.burn_obs", 2, 6, 3, 64, 64), integers("diamond.burn_act", 6, 2, 6)
    with torch.no_grad():
        return agent.rew_end_model(obs[:, :4], actions[:, :4], obs[:, 1:5])


def test_reward_and_end_in_burn_in(burnt_in: RewEndOutput) -> None:
    assert_published(burnt_in.logits_rew, "rew/burn")
    assert_published(burnt_in.logits_end, "end/burn")
    assert_published(burnt_in.state[:1], "rew/h")
    assert_published(burnt_in.state[1:], "rew/c")


def test_reward_and_end_after_burn_in(agent: DiamondAgent, burnt_in: RewEndOutput) -> None:
    obs, actions = images("diamond.burn_obs", 2, 6, 3, 64, 64), integers("diamond.burn_act", 6, 2, 6)
    with torch.no_grad():
        output = agent.rew_end_model(obs[:, 4:5], actions[:, 4:5], obs[:, 5:6], burnt_in.state)
    assert_published(output.logits_rew, "rew/step")
    assert_published(output.logits_end, "end/step")


def test_reward_and_end_loss(agent: DiamondAgent) -> None:
    obs, actions = images("diamond.loss_obs", 2, 6, 3, 64, 64), integers("diamond.loss_act", 6, 2, 6)
    rewards = torch.zeros(2, 5)
    rewards[:, 1], rewards[:, 3] = 2, -1
    nothing, everything = torch.zeros(2, 5, dtype=torch.bool), torch.ones(2, 5, dtype=torch.bool)
    with torch.no_grad():
        loss, metrics = agent.rew_end_model.loss(obs, actions[:, :5], rewards, nothing, everything)
    assert float(loss) == pytest.approx(PUBLISHED["loss/rew_end"], abs=1e-5)
    assert float(metrics["loss_rew"] + metrics["loss_end"]) == pytest.approx(float(loss), abs=1e-6)


def test_actor_critic(agent: DiamondAgent) -> None:
    state = agent.actor_critic.initial_state(2)
    logits, values = [], []
    with torch.no_grad():
        for frames in images("diamond.ac_obs", 2, 5, 3, 64, 64).unbind(1):
            output = agent.actor_critic(frames, state)
            state = output.state
            logits.append(output.logits)
            values.append(output.values)
    assert_published(torch.stack(logits, 1), "ac/logits")
    assert_published(torch.stack(values, 1), "ac/value")
    assert_published(state[0], "ac/h")
    assert_published(state[1], "ac/c")


def test_actor_critic_burn_in_gives_the_same_memory(default_agent: DiamondAgent) -> None:
    with torch.no_grad():
        state = default_agent.actor_critic.burn_in(images("diamond.ac_obs", 2, 5, 3, 64, 64))
    assert_published(state[0], "ac/h")
    assert_published(state[1], "ac/c")


def test_lambda_returns() -> None:
    returns = compute_lambda_returns(
        (integers("diamond.lr_rew", 7, 2, 15) - 3).float(),
        u("diamond.lr_end", 2, 15) < -0.8,
        u("diamond.lr_trunc", 2, 15) < -0.8,
        (2 * u("diamond.lr_val", 2, 15)).float(),
        0.985,
        0.95,
    )
    assert_published(returns, "lambda_returns")


@pytest.mark.parametrize(
    ("component", "tensors", "numbers"),
    [("denoiser", 236, 4_406_211), ("rew_end_model", 108, 5_901_120), ("actor_critic", 28, 3_230_663)],
)
def test_sizes(default_agent: DiamondAgent, component: str, tensors: int, numbers: int) -> None:
    held = default_agent.get_submodule(component).state_dict().values()
    assert len(held) == tensors
    assert sum(tensor.numel() for tensor in held) == numbers


def test_bf16_stays_close(default_agent: DiamondAgent, context: tuple[Tensor, Tensor], noisy: Tensor) -> None:
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        output = default_agent.denoiser.network_output(noisy, torch.ones(2), *context)
    expected = PUBLISHED["raw_F/1.000"]
    assert float(output.std()) == pytest.approx(expected["std"], abs=5e-3)
    flat = output.flatten()
    assert [float(flat[int(i)]) for i in expected["at"]] == pytest.approx(list(expected["at"].values()), abs=0.05)
