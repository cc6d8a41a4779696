"""Play in the dynamics model: a latent action in, a frame out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wm_agent_genie.maskgit import generate_frame

if TYPE_CHECKING:
    from wm_agent_genie.agent import GenieAgent


class Dream:
    """B dreams side by side. They look back on at most `clip_frames - 1` frames, the newest ones."""

    @torch.no_grad()
    def __init__(
        self,
        agent: GenieAgent,
        frames: Tensor,
        codes: Tensor | None = None,
        *,
        steps: int | None = None,
        temperature: float | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        """See `GenieAgent.dream_batch`."""
        self.agent, self._steps, self._temperature, self._generator = agent, steps, temperature, generator
        self._limit = agent.config.clip_frames - 1
        frames = frames[:, -self._limit :].to(agent.device)
        between = frames.shape[1] - 1
        with agent.precision():
            self._tokens = agent.tokenizer.encode(frames)
            if codes is None:
                empty = torch.empty(len(frames), 0, dtype=torch.long, device=agent.device)
                codes = agent.latent_action_model.infer(frames) if between else empty
        self._codes = codes.to(agent.device)[:, max(0, codes.shape[1] - between) :]
        if self._codes.shape[1] != between:
            raise ValueError(f"{frames.shape[1]} frames have {between} actions between them; {codes.shape[1]} given")
        self._cache = agent.dynamics.new_cache(len(frames))
        self._decoder_cache = agent.tokenizer.decoder.new_cache(len(frames))

    @torch.no_grad()
    def step(self, codes: Tensor) -> Tensor:
        """The next frames (B, C, H, W) in [0, 1] after latent actions (B,)."""
        agent = self.agent
        codes = torch.cat([self._codes, codes.to(agent.device).unsqueeze(1)], dim=1)
        with agent.precision():
            frame = generate_frame(
                agent.dynamics,
                self._tokens,
                agent.latent_action_model.embed(codes),
                self._cache,
                steps=self._steps,
                temperature=self._temperature,
                generator=self._generator,
            )
            tokens = torch.cat([self._tokens, frame.unsqueeze(1)], dim=1)
            pixels = self._decoded(tokens)
        drop = max(0, tokens.shape[1] - self._limit)
        if drop:
            self._decoder_cache.keep(0)
        self._tokens, self._codes = tokens[:, drop:], codes[:, drop:]
        return pixels

    def _decoded(self, tokens: Tensor) -> Tensor:
        """The newest of the frames with these tokens, (B, C, H, W)."""
        unread = tokens[:, self._decoder_cache.length :]
        return self.agent.tokenizer.decode_next(unread, self._decoder_cache)[:, -1]


class DreamSession:
    """One dream, in the types of a player: an integer in, a picture out."""

    def __init__(self, dream: Dream) -> None:
        self._dream = dream
        self.actions = dream.agent.config.latent_actions.actions
        """Latent actions are 0 .. actions - 1."""

    def step(self, latent_action: int) -> NDArray[np.uint8]:
        """The next frame, uint8 (H, W, C)."""
        if not 0 <= latent_action < self.actions:
            raise ValueError(f"latent action {latent_action} is not in 0..{self.actions - 1}")
        frame = self._dream.step(torch.tensor([latent_action]))[0]
        picture: NDArray[np.uint8] = (frame * 255).round().to(torch.uint8).movedim(0, -1).cpu().numpy()
        return picture
