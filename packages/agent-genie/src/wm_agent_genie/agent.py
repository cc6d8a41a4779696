"""Genie: the tokenizer, the latent action model, the dynamics model and the policy, and what they do together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wm_agent_genie.config import GenieConfig
from wm_agent_genie.dream import Dream, DreamSession
from wm_agent_genie.dynamics import DynamicsModel
from wm_agent_genie.latent_action_model import LatentActionModel
from wm_agent_genie.policy import GeniePolicy
from wm_agent_genie.tokenizer import VideoTokenizer
from wm_torchkit.device import autocast

Frames = NDArray[np.uint8]


class GenieAgent(nn.Module):
    """The whole agent. Tensors of frames are float (B, T, C, H, W) in [0, 1]; generators are on its device."""

    def __init__(self, config: GenieConfig) -> None:
        super().__init__()
        self.config = config
        recompute, frames = config.compute.gradient_checkpointing, config.clip_frames
        self.tokenizer = VideoTokenizer(
            config.tokenizer,
            image_size=config.image_size,
            channels=config.channels,
            frames=frames,
            recompute=recompute,
        )
        self.latent_action_model = LatentActionModel(
            config.latent_actions,
            image_size=config.image_size,
            channels=config.channels,
            frames=frames,
            recompute=recompute,
        )
        self.dynamics = DynamicsModel(
            config.dynamics,
            vocabulary_size=config.tokenizer.quantizer.codes,
            tokens_per_frame=config.tokens_per_frame,
            action_dim=config.latent_actions.quantizer.code_dim,
            frames=frames,
            recompute=recompute,
        )
        self.policy = GeniePolicy.of(config, config.latent_actions.actions)

    @classmethod
    def from_config(cls, config: GenieConfig, *, device: str | torch.device = "cpu", seed: int = 0) -> Self:
        """A fresh agent in evaluation mode; its weights depend on `seed` alone."""
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            agent = cls(config)
        return agent.to(device).eval()

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.dynamics.head.weight.device

    def precision(self) -> AbstractContextManager[object]:
        """The autocast of `compute.precision`; losses and passes run inside it."""
        return autocast(self.device, self.config.compute.precision)

    def tensor(self, frames: Frames) -> Tensor:
        """Frames uint8 (..., H, W, C) to float (..., C, H, W) in [0, 1] on its device."""
        height, width = self.config.image_size
        shape = (height, width, self.config.channels)
        if frames.dtype != np.uint8 or frames.shape[-3:] != shape:
            raise ValueError(
                f"frames must be uint8 (..., {', '.join(map(str, shape))}), not {frames.dtype} {frames.shape}"
            )
        pixels = torch.from_numpy(np.require(frames, requirements=["C", "W"])).to(self.device)
        return pixels.movedim(-1, -3).float() / 255

    @torch.no_grad()
    def dynamics_inputs(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (B, T, N) and the vectors of the latent actions between frames (B, T-1, code_dim): what
        `dynamics.loss` learns from. No gradient leads back to tokenizer or latent action model.
        """
        with self.precision():
            actions = self.latent_action_model.embed(self.latent_action_model.infer(frames))
            return self.tokenizer.encode(frames), actions

    def dream_batch(
        self,
        frames: Tensor,
        codes: Tensor | None = None,
        *,
        steps: int | None = None,
        temperature: float | None = None,
        generator: torch.Generator | None = None,
    ) -> Dream:
        """Dreams that go on from frames (B, T, C, H, W), T >= 1; `codes` (B, T-1) are the latent actions between
        them, inferred where not given. `steps` and `temperature` are the configuration's unless given.
        """
        if frames.dim() != 5 or frames.shape[1] < 1:
            raise ValueError(f"a dream goes on from frames (B, T, C, H, W) with T >= 1, not {tuple(frames.shape)}")
        if steps is not None and steps < 1:
            raise ValueError(f"steps={steps}; a frame takes at least one MaskGIT step")
        if temperature is not None and temperature < 0:
            raise ValueError(f"temperature={temperature} is negative; 0 takes the likeliest tokens")
        if self.training:
            raise RuntimeError("the agent is in training mode: call .eval() before it dreams")
        return Dream(self, frames, codes, steps=steps, temperature=temperature, generator=generator)

    def dream(
        self, frames: Frames, *, seed: int = 0, steps: int | None = None, temperature: float | None = None
    ) -> DreamSession:
        """A dream to play: `frame = session.step(latent_action)`.

        It goes on from one frame uint8 (H, W, C) or several (T, H, W, C), of which the newest T-1 of the
        configuration's `clip_frames` count. Equal seeds and actions give equal frames.
        """
        prompt = frames[None] if frames.ndim == 3 else frames
        generator = torch.Generator(self.device).manual_seed(seed)
        dream = self.dream_batch(
            self.tensor(prompt).unsqueeze(0), steps=steps, temperature=temperature, generator=generator
        )
        return DreamSession(dream)

    def imagine(
        self,
        frames: Frames,
        latent_actions: list[int],
        *,
        seed: int = 0,
        steps: int | None = None,
        temperature: float | None = None,
    ) -> Frames:
        """The frames uint8 (len(latent_actions), H, W, C) that follow `frames`, one for each latent action."""
        if not latent_actions:
            raise ValueError("latent_actions is empty; give one for each frame to imagine")
        session = self.dream(frames, seed=seed, steps=steps, temperature=temperature)
        return np.stack([session.step(action) for action in latent_actions])
