"""From noise to the next frame: the sampler of Karras et al. (2022, algorithm 2). Sections 3.2 and 5.1."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wm_agent_diamond.config import SamplerConfig
from wm_agent_diamond.denoiser import Denoiser


def schedule(config: SamplerConfig) -> list[float]:
    """Noise levels of `steps` steps, falling from sigma_max, and 0 (equation 5)."""
    high, low = config.sigma_max ** (1 / config.rho), config.sigma_min ** (1 / config.rho)
    share = [i / max(config.steps - 1, 1) for i in range(config.steps)]
    return [*((high + s * (low - high)) ** config.rho for s in share), 0.0]


def churned(config: SamplerConfig, sigma: float) -> float:
    """The level to which fresh noise raises `sigma`."""
    below = config.s_tmax is None or sigma <= config.s_tmax
    if config.s_churn == 0 or sigma < config.s_tmin or not below:
        return sigma
    return sigma * (1 + min(config.s_churn / config.steps, math.sqrt(2) - 1))


@torch.no_grad()
def sample_next_frame(
    denoiser: Denoiser,
    config: SamplerConfig,
    obs: Tensor,
    actions: Tensor,
    generator: torch.Generator | None = None,
    *,
    noise: Tensor | None = None,
    trajectory: list[Tensor] | None = None,
) -> Tensor:
    """Next frames (B, 3, H, W) in [-1, 1] after contexts (B, L, 3, H, W) and actions (B, L).

    Begins at standard normal `noise` (B, 3, H, W), drawn with `generator` (on the device of `obs`) if not given; as
    published it is not multiplied by sigma_max. `trajectory` collects it and what follows each step. The last step of
    either order gives the denoiser's own prediction, so frames lie on the grid of 8 bits up to rounding.
    """
    sigmas = schedule(config)
    hats = [churned(config, sigma) for sigma in sigmas[:-1]]
    levels: list[float] = []
    for hat, following in zip(hats, sigmas[1:], strict=True):
        levels += [hat, following] if config.order == 2 and following > 0 else [hat]
    denoise = denoiser.prepare(levels, obs, actions)
    x = torch.randn(obs[:, 0].shape, generator=generator, device=obs.device) if noise is None else noise
    if trajectory is not None:
        trajectory.append(x)
    level = 0
    for sigma, hat, following in zip(sigmas[:-1], hats, sigmas[1:], strict=True):
        if hat > sigma:
            fresh = torch.randn(x.shape, generator=generator, device=x.device)
            x = x + config.s_noise * math.sqrt(hat**2 - sigma**2) * fresh
        slope = (x - denoise(x, level)) / hat
        ahead = x + (following - hat) * slope
        level += 1
        if config.order == 2 and following > 0:
            slope_ahead = (ahead - denoise(ahead, level)) / following
            ahead = x + (following - hat) * (slope + slope_ahead) / 2
            level += 1
        x = ahead
        if trajectory is not None:
            trajectory.append(x)
    return x
