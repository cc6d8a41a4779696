"""What a world model is worth on clips it has not learned from. Section 3 (metrics).

Its rollouts lie between a floor, the last frame seen repeated, and a ceiling, what the tokenizer makes of the true
frames. Both are reported beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from wm_agent_genie.metrics.codes import collapse_warning, entropy, mutual_information, perplexity
from wm_agent_genie.metrics.images import psnr, ssim

if TYPE_CHECKING:
    from wm_agent_genie.agent import GenieAgent


@dataclass(frozen=True)
class WorldModelMetrics:
    """Means over clips; PSNR in dB, by horizon 1..H where it is a tuple."""

    psnr: tuple[float, ...]
    """Of rollouts with the inferred latent actions."""
    psnr_random_actions: tuple[float, ...]
    """Of rollouts with uniformly drawn ones, all else, the random numbers included, alike."""
    psnr_persistence: tuple[float, ...]
    psnr_tokenizer: tuple[float, ...]
    ssim: float
    """At horizon H, as are the next two."""
    ssim_persistence: float
    ssim_tokenizer: float
    codebook_perplexity: float
    codebook_size: int
    latent_action_perplexity: float
    latent_actions: int
    mutual_information: float | None
    """Of latent and true actions, in bits; None without true actions."""
    true_action_entropy: float | None
    """In bits: what the mutual information cannot exceed."""
    clips: int

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.psnr)

    @property
    def delta_psnr(self) -> float:
        """Delta_H PSNR: how much the inferred latent actions improve on random ones. 0: actions do nothing."""
        return self.psnr[-1] - self.psnr_random_actions[-1]

    def metrics(self) -> dict[str, float]:
        """By name. `psnr` and its companions are those at horizon H; `psnr_at_h` those at horizon h."""
        values = {f"psnr_at_{h}": value for h, value in enumerate(self.psnr, start=1)}
        for name in ("psnr", "psnr_random_actions", "psnr_persistence", "psnr_tokenizer"):
            values[name] = getattr(self, name)[-1]
        values[f"delta_{self.horizon}_psnr"] = self.delta_psnr
        values |= {"ssim": self.ssim, "ssim_persistence": self.ssim_persistence, "ssim_tokenizer": self.ssim_tokenizer}
        values["codebook_perplexity"] = self.codebook_perplexity
        values["latent_action_perplexity"] = self.latent_action_perplexity
        if self.mutual_information is not None and self.true_action_entropy is not None:
            values["mutual_information_bits"] = self.mutual_information
            values["true_action_entropy_bits"] = self.true_action_entropy
        return values

    def warnings(self) -> list[str]:
        """What a reader of the figures must know; empty when there is nothing."""
        collapsed = collapse_warning(self.latent_action_perplexity, self.latent_actions)
        return [] if collapsed is None else [collapsed]


@torch.no_grad()
def evaluate_world_model(
    agent: GenieAgent,
    clips: Tensor,
    true_actions: Tensor | None = None,
    *,
    prompt_frames: int = 1,
    horizon: int = 4,
    seed: int = 0,
    steps: int | None = None,
    temperature: float | None = None,
) -> WorldModelMetrics:
    """Measure on clips (B, T, C, H, W) in [0, 1], T >= prompt_frames + horizon; the paper's horizon is 4.

    `true_actions` int64 (B, T-1) are those taken between frames. Rollouts go on from the first `prompt_frames`.
    Codes are counted over the whole clips, which must be no longer than `clip_frames`.
    """
    if clips.shape[1] < prompt_frames + horizon or min(prompt_frames, horizon) < 1:
        raise ValueError(
            f"clips of {clips.shape[1]} frames hold no prompt of {prompt_frames} and horizon of {horizon}; "
            "use longer clips, or less of either, at least 1 of each"
        )
    if true_actions is not None and true_actions.shape != (clips.shape[0], clips.shape[1] - 1):
        raise ValueError(
            f"true_actions must be {(clips.shape[0], clips.shape[1] - 1)}, not {tuple(true_actions.shape)}"
        )
    clips = clips.to(agent.device)
    with agent.precision():
        codes = agent.latent_action_model.infer(clips)
        tokens = agent.tokenizer.encode(clips)
        reconstructed = agent.tokenizer.decode(tokens)
    end, actions = prompt_frames + horizon, agent.config.latent_actions.actions
    drawn = torch.randint(actions, codes.shape, generator=torch.Generator().manual_seed(seed)).to(agent.device)
    prompt, truth = clips[:, :prompt_frames], clips[:, prompt_frames:end]

    def rollout(chosen: Tensor) -> Tensor:
        generator = torch.Generator(agent.device).manual_seed(seed)
        dream = agent.dream_batch(
            prompt, codes[:, : prompt_frames - 1], steps=steps, temperature=temperature, generator=generator
        )
        return torch.stack([dream.step(chosen[:, t]) for t in range(prompt_frames - 1, end - 1)], dim=1)

    dreamt, at_random = rollout(codes), rollout(drawn)
    persistent = prompt[:, -1:].expand_as(truth)
    ceiling = reconstructed[:, prompt_frames:end]
    return WorldModelMetrics(
        psnr=_by_horizon(dreamt, truth),
        psnr_random_actions=_by_horizon(at_random, truth),
        psnr_persistence=_by_horizon(persistent, truth),
        psnr_tokenizer=_by_horizon(ceiling, truth),
        ssim=_at_the_end(dreamt, truth),
        ssim_persistence=_at_the_end(persistent, truth),
        ssim_tokenizer=_at_the_end(ceiling, truth),
        codebook_perplexity=float(perplexity(tokens, agent.config.tokenizer.quantizer.codes)),
        codebook_size=agent.config.tokenizer.quantizer.codes,
        latent_action_perplexity=float(perplexity(codes, actions)),
        latent_actions=actions,
        mutual_information=None if true_actions is None else mutual_information(codes.cpu(), true_actions.cpu()),
        true_action_entropy=None if true_actions is None else entropy(true_actions.cpu()),
        clips=len(clips),
    )


def _by_horizon(frames: Tensor, truth: Tensor) -> tuple[float, ...]:
    return tuple(psnr(frames, truth).mean(dim=0).tolist())


def _at_the_end(frames: Tensor, truth: Tensor) -> float:
    return float(ssim(frames[:, -1], truth[:, -1]).mean())
