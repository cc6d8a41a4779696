"""Draw a frame from the dynamics model, a few tokens first. MaskGIT: Chang et al. (2022), Sections 3.2 and 3.3.

All tokens of the frame begin unknown. A step draws a token for each unknown place, keeps those drawn with most
confidence, and the next step sees them. How many are kept follows the cosine schedule, and chance in the choice
falls to nothing. Genie names 25 steps and a temperature, and no schedule: these are MaskGIT's.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor

from wm_agent_genie.dynamics import DynamicsCache, DynamicsModel


def known_after(steps: int, tokens: int) -> list[int]:
    """How many of a frame's tokens are known after each step: N (1 - cos(pi/2 s/S)), from few to all.

    At least one more each step; with fewer tokens than steps, or none left, the list is shorter than `steps`.
    """
    if steps < 1:
        raise ValueError(f"steps={steps}; a frame takes at least one")
    known: list[int] = []
    for step in range(1, steps + 1):
        before = known[-1] if known else 0
        if before == tokens:
            break
        wanted = tokens if step == steps else math.ceil(tokens * (1 - math.cos(math.pi / 2 * step / steps)))
        known.append(min(tokens, max(before + 1, wanted)))
    return known


def choice_noise(temperature: float, step: int, steps: int) -> float:
    """Weight of the Gumbel noise in the choice of step 1..S: falls linearly from below `temperature` to 0."""
    return temperature * (1 - step / steps)


@torch.no_grad()
def generate_frame(
    dynamics: DynamicsModel,
    past: Tensor,
    actions: Tensor,
    cache: DynamicsCache | None,
    *,
    steps: int | None = None,
    temperature: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Tokens (B, N) of the frame after `past` (B, T, N), T < the model's frames, and actions (B, T, action_dim).

    `actions[:, t]` leads from frame t on, the last one to the new frame. With a cache (`dynamics.new_cache(B)`) each
    step computes the new frame alone; the frames are the same as without, where it computes all. What the cache has
    read of this past it does not read again. `steps` and `temperature` are those of the configuration unless given;
    at temperature 0 each token is the likeliest one. `generator` is on the device of the model.
    """
    if actions.shape[1] != past.shape[1]:
        raise ValueError(f"{past.shape[1]} frames need as many actions, the last for the new frame: {actions.shape[1]}")
    config = dynamics.config
    temperature = config.temperature if temperature is None else temperature
    if cache is not None:
        dynamics.read(cache, past, actions[:, :-1])
    frame = torch.full_like(past[:, 0], dynamics.mask_token)
    known = [0, *known_after(config.steps if steps is None else steps, dynamics.tokens_per_frame)]
    for step, (before, after) in enumerate(pairwise(known), start=1):
        if cache is not None:
            logits = dynamics.draft_logits(cache, frame, actions[:, -1])
        else:
            logits = dynamics(torch.cat([past, frame.unsqueeze(1)], dim=1), actions)[:, -1]
        drawn, confidence = _draw(logits.float(), temperature, generator)
        noise = choice_noise(config.choice_temperature, step, len(known) - 1) if temperature > 0 else 0.0
        if noise > 0:
            confidence = confidence + noise * _gumbel(confidence, generator)
        confidence = confidence.masked_fill(frame != dynamics.mask_token, -math.inf)
        kept = confidence.topk(after - before, dim=1).indices
        frame = frame.scatter(1, kept, drawn.gather(1, kept))
    return frame


def _draw(logits: Tensor, temperature: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """A token (B, N) from logits (B, N, K), and its log-probability."""
    log_p = torch.log_softmax(logits / (temperature or 1.0), dim=-1)
    drawn = (log_p + _gumbel(log_p, generator) if temperature > 0 else log_p).argmax(dim=-1)
    return drawn, log_p.gather(-1, drawn.unsqueeze(-1)).squeeze(-1)


def _gumbel(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard Gumbel noise: the largest of log-probability plus it is distributed as the probabilities are."""
    return -torch.empty_like(like).exponential_(generator=generator).log()
