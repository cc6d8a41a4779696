"""DIAMOND: the denoiser, the reward/end model and the policy, and what one does with them together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn

from wm_agent_diamond import checkpoint, published
from wm_agent_diamond.actor_critic import ActorCritic
from wm_agent_diamond.actor_critic_loss import actor_critic_loss
from wm_agent_diamond.config import ComputeConfig, DiamondConfig
from wm_agent_diamond.denoiser import Denoiser
from wm_agent_diamond.dream import Dream, Start
from wm_agent_diamond.rew_end_model import RewEndModel
from wm_agent_diamond.world_model import WorldModel
from wm_torchkit.checkpoint import write_checkpoint
from wm_torchkit.device import autocast
from wm_torchkit.frames import to_uint8
from wm_torchkit.sampling import sample
from wm_torchkit.weights import load_weights


class OpenLoopDream(NamedTuple):
    """H steps of B dreams, to look at."""

    frames: Tensor
    """uint8 (B, H, S, S, 3): what each action led to."""
    actions: Tensor
    """int64 (B, H)"""
    rewards: Tensor
    """float (B, H): -1, 0 or 1."""
    ends: Tensor
    """bool (B, H). A dream goes on after an end."""


class DiamondAgent(nn.Module):
    """The whole agent. Frames are (..., 3, S, S) float in [-1, 1]; generators are on its device."""

    CHECKPOINT_FORMAT: ClassVar[str] = checkpoint.FORMAT
    """A checkpoint of another one is refused."""

    def __init__(self, config: DiamondConfig, action_size: int) -> None:
        super().__init__()
        size, compute = config.denoiser.image_size, config.compute
        self.config = config
        self.action_size = action_size
        self.denoiser = Denoiser(config.denoiser, action_size, compute)
        self.rew_end_model = RewEndModel(
            config.rew_end_model, image_size=size, action_size=action_size, compute=compute
        )
        self.actor_critic = ActorCritic(config.actor_critic, image_size=size, action_size=action_size, compute=compute)
        self.world_model = WorldModel(self.denoiser, self.rew_end_model, config.sampler)

    @classmethod
    def from_config(
        cls, config: DiamondConfig, *, action_size: int, device: str | torch.device = "cpu", seed: int = 0
    ) -> Self:
        """A fresh agent in evaluation mode; its weights depend on `seed` alone."""
        if action_size < 1:
            raise ValueError(f"action_size={action_size}: an agent needs at least one action")
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            agent = cls(config, action_size)
        return agent.to(device).eval()

    @classmethod
    def from_pretrained(
        cls, path: str | Path, *, device: str | torch.device = "cpu", compute: ComputeConfig | None = None
    ) -> Self:
        """The agent of a checkpoint, in evaluation mode: of `save` (`.safetensors`), or published with the paper.

        `compute` replaces how it is computed. `CheckpointError` when the file is no such checkpoint.
        """
        path = Path(path).expanduser()
        if path.suffix == ".safetensors":
            config, action_size, weights = checkpoint.read(path)
        else:
            action_size, weights = published.load(path)
            config = DiamondConfig()
        if compute is not None:
            config = config.model_copy(update={"compute": compute})
        agent = cls.from_config(config, action_size=action_size, device=device)
        load_weights(agent, weights, path)
        return agent

    def save(
        self,
        path: str | Path,
        *,
        env: Mapping[str, Any] | None = None,
        counters: Mapping[str, int] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> str:
        """Write a checkpoint, atomically; its SHA-256.

        `env` are the fields of the EnvSpec it was trained in; `notes` say what a user must know of the weights.
        """
        described = checkpoint.header(self.config, self.action_size).model_copy(
            update={"env": dict(env or {}), "counters": dict(counters or {}), "notes": dict(notes or {})}
        )
        return write_checkpoint(Path(path), described, self.state_dict())

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.actor_critic.actor_linear.weight.device

    def precision(self) -> AbstractContextManager[object]:
        """The autocast of `compute.precision`; everything below runs inside it."""
        return autocast(self.device, self.config.compute.precision)

    @torch.no_grad()
    def policy_step(
        self,
        obs: Tensor,
        state: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
        temperature: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Sample actions (B,) for frames (B, 3, S, S), and the state to pass with the next ones.

        Without `state` an episode begins; a lane whose episode begins has zeros in `state[:, lane]`. The temperature
        is that of evaluation unless given.
        """
        before = self.actor_critic.initial_state(len(obs)) if state is None else state
        with self.precision():
            policy = self.actor_critic(obs.to(self.device), before)
        chosen = self.config.imagination.evaluation_temperature if temperature is None else temperature
        return sample(policy.logits, generator, chosen), policy.state

    @torch.no_grad()
    def dream(
        self,
        start_obs: Tensor,
        start_actions: Tensor,
        actions: Tensor | None,
        horizon: int,
        generator: torch.Generator | None = None,
        *,
        temperature: float = 1.0,
    ) -> OpenLoopDream:
        """Dream H steps on from contexts (B, L, 3, S, S) and (B, L), with the actions given (B, H) or the policy's."""
        if actions is not None and actions.shape != (len(start_obs), horizon):
            raise ValueError(f"actions must be {(len(start_obs), horizon)}, not {tuple(actions.shape)}")
        expected = self.config.denoiser.context_frames
        if start_obs.shape[1] != expected or start_actions.shape != start_obs.shape[:2]:
            shapes = f"{tuple(start_obs.shape)} and {tuple(start_actions.shape)}"
            raise ValueError(f"a dream begins at {expected} frames and as many actions a lane, not {shapes}")
        start_obs, start_actions = start_obs.to(self.device), start_actions.to(self.device)
        with self.precision():
            world = self.world_model.begin(Start(start_obs, start_actions))
            memory = self.actor_critic.burn_in(start_obs[:, :-1])
            steps = []
            for t in range(horizon):
                if actions is None:
                    policy = self.actor_critic(world.obs[:, -1], memory)
                    chosen, memory = sample(policy.logits, generator, temperature), policy.state
                else:
                    chosen = actions[:, t].to(self.device)
                world, rewards, ends = self.world_model.step(world, chosen, generator)
                steps.append((to_uint8(world.obs[:, -1], -1.0, 1.0), chosen, rewards, ends))
        return OpenLoopDream(*(torch.stack(each, dim=1) for each in zip(*steps, strict=True)))

    def actor_critic_loss(self, dream: Dream) -> tuple[Tensor, dict[str, Tensor]]:
        """See `actor_critic_loss.actor_critic_loss`."""
        return actor_critic_loss(dream, self.config.imagination)
