"""The diffusion model D_theta: preconditioning, noise in training, loss. Sections 2.2 and 3.1, Appendix C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wm_agent_diamond.config import ComputeConfig, DenoiserConfig, NoiseConfig
from wm_agent_diamond.networks.compiled import CompiledNetwork
from wm_agent_diamond.networks.inner_model import InnerModel


class Conditioners(NamedTuple):
    """The preconditioners of Karras et al. (2022, Table 1) at noise levels sigma, shaped as those."""

    c_in: Tensor
    c_out: Tensor
    c_skip: Tensor
    c_noise: Tensor

    def on_images(self) -> tuple[Tensor, Tensor, Tensor]:
        """c_in, c_out and c_skip of (B,), to multiply (B, C, H, W) with."""
        return self.c_in[:, None, None, None], self.c_out[:, None, None, None], self.c_skip[:, None, None, None]


def conditioners(sigma: Tensor, sigma_data: float, offset: float) -> Conditioners:
    """The whole noise is sqrt(sigma^2 + offset^2), offset noise included."""
    s = (sigma**2 + offset**2).sqrt()
    c_in = (s**2 + sigma_data**2).rsqrt()
    c_skip = sigma_data**2 / (s**2 + sigma_data**2)
    return Conditioners(c_in, s * c_skip.sqrt(), c_skip, s.log() / 4)


def quantise(frames: Tensor) -> Tensor:
    """Frames clamped to [-1, 1] and cut down to the level of 8 bits below, as the published model does."""
    return frames.clamp(-1, 1).add(1).div(2).mul(255).byte().to(frames.dtype).div(255).mul(2).sub(1)


def noise_levels(config: NoiseConfig, count: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
    """Levels (count,) for training: log-normal, clipped."""
    z = torch.randn(count, generator=generator, device=device)
    return (config.log_mean + config.log_std * z).exp().clamp(config.sigma_min, config.sigma_max)


def add_noise(frames: Tensor, sigma: Tensor, offset: float, generator: torch.Generator | None) -> Tensor:
    """Frames (B, 3, H, W) with noise of level `sigma` (B,) a pixel, and `offset` a channel, whatever sigma is."""
    b, c, _, _ = frames.shape
    shared = torch.randn(b, c, 1, 1, generator=generator, device=frames.device)
    pixels = torch.randn(frames.shape, generator=generator, device=frames.device)
    return frames + offset * shared + sigma[:, None, None, None] * pixels


class Denoiser(nn.Module):
    """Predicts the clean next frame from a noisy one, L past frames and L actions.

    Frames are (B, 3, H, W) in [-1, 1], contexts (B, L, 3, H, W), the oldest first, actions (B, L) int64, noise levels
    (B,) in the unit of frames.
    """

    def __init__(self, config: DenoiserConfig, action_size: int, compute: ComputeConfig | None = None) -> None:
        super().__init__()
        compute = compute or ComputeConfig()
        self.config = config
        self.inner_model = InnerModel(config, action_size, compute)
        self._network = CompiledNetwork(self.inner_model, compute.compile)

    def conditioners(self, sigma: Tensor) -> Conditioners:
        """At noise levels `sigma`, of any shape."""
        return conditioners(sigma, self.config.sigma_data, self.config.noise.offset)

    def network_output(self, noisy: Tensor, sigma: Tensor, obs: Tensor, actions: Tensor) -> Tensor:
        """F_theta, (B, 3, H, W), float32."""
        c = self.conditioners(sigma)
        modulations = self.inner_model.modulations(c.c_noise, actions)
        scaled = obs.flatten(1, 2) / self.config.sigma_data
        output: Tensor = self.inner_model(scaled, c.on_images()[0] * noisy, modulations)
        return output.float()

    def denoise(self, noisy: Tensor, sigma: Tensor, obs: Tensor, actions: Tensor) -> Tensor:
        """D_theta: the clean frame, clamped and on the grid of 8 bits."""
        c = self.conditioners(sigma)
        return self._combined(noisy, self.network_output(noisy, sigma, obs, actions), c)

    def prepare(self, sigmas: Sequence[float], obs: Tensor, actions: Tensor) -> PreparedDenoiser:
        """To denoise frames after the same contexts at these levels, one after the other: what can be shared is."""
        c = self.conditioners(torch.tensor(sigmas, dtype=torch.float32))
        batch = len(obs)
        c_noise = c.c_noise.to(obs.device).repeat_interleave(batch)
        all_levels = self.inner_model.modulations(c_noise, actions.repeat(len(sigmas), 1))
        by_level = list(zip(*(torch.split(modulation, batch) for modulation in all_levels), strict=True))
        scalars = list(zip(c.c_in.tolist(), c.c_out.tolist(), c.c_skip.tolist(), strict=True))
        together = lanes_together(self.config, obs)
        scaled = obs.flatten(1, 2) / self.config.sigma_data
        return PreparedDenoiser(self._network, scaled, by_level, scalars, together)

    def loss(
        self, obs: Tensor, actions: Tensor, mask: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Of segments of T > L frames (B, T, 3, H, W), whose frames from L on are predicted one after the other.

        Each prediction's context holds the model's own earlier ones, denoised in one step, without gradient. `mask`
        (B, T) is False on padding, which counts only as context. The loss is the mean over the predictions.
        """
        length = self.config.context_frames
        count = obs.shape[1] - length
        if count < 1:
            raise ValueError(f"segments of {obs.shape[1]} frames; expected more than the {length} of the context")
        frames = list(obs.unbind(1))
        losses = []
        for i in range(count):
            context = torch.stack(frames[i : i + length], dim=1)
            real = mask[:, length + i].float()
            sigma = noise_levels(self.config.noise, len(obs), generator, obs.device)
            noisy = add_noise(frames[length + i], sigma, self.config.noise.offset, generator)
            c = self.conditioners(sigma)
            _, c_out, c_skip = c.on_images()
            output = self.network_output(noisy, sigma, context, actions[:, i : i + length])
            target = (frames[length + i] - c_skip * noisy) / c_out
            each = (output - target).square().mean(dim=(1, 2, 3))
            losses.append((each * real).sum() / real.sum().clamp(min=1))
            if i + 1 < count:
                frames[length + i] = self._combined(noisy, output.detach(), c)
        loss = torch.stack(losses).mean()
        return loss, {"loss_denoising": loss.detach()}

    def _combined(self, noisy: Tensor, output: Tensor, c: Conditioners) -> Tensor:
        _, c_out, c_skip = c.on_images()
        return quantise(c_skip * noisy + c_out * output)


class PreparedDenoiser:
    """D_theta after given contexts, at noise levels known in advance."""

    def __init__(
        self,
        network: CompiledNetwork,
        obs: Tensor,
        modulations: list[tuple[Tensor, ...]],
        scalars: list[tuple[float, float, float]],
        together: int,
    ) -> None:
        self._network, self._scalars, self._together = network, scalars, together
        self._obs = torch.split(obs, together)
        self._modulations = [
            list(zip(*(torch.split(m, together) for m in level), strict=True)) for level in modulations
        ]

    def __call__(self, noisy: Tensor, level: int) -> Tensor:
        """The clean frames (B, 3, H, W) at the level of that index."""
        c_in, c_out, c_skip = self._scalars[level]
        parts = zip(self._obs, torch.split(c_in * noisy, self._together), self._modulations[level], strict=True)
        output = torch.cat([self._network(*part) for part in parts]).float()
        return quantise(c_skip * noisy + c_out * output)


def lanes_together(config: DenoiserConfig, obs: Tensor) -> int:
    """How many frames pass through the network at once: all; on a CPU, as many as its cache holds features of."""
    if obs.device.type != "cpu":
        return len(obs)
    return max(1, _CACHED_NUMBERS // (config.channels[0] * obs.shape[-2] * obs.shape[-1]))


_CACHED_NUMBERS = 2**20
"""Of one layer's features: 4 MB, which is four frames of the paper's size."""
