"""IRIS: the tokenizer, the world model and the policy, and what one does with them together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from wm_agent_iris import checkpoint, published
from wm_agent_iris.actor_critic import IRISActorCritic
from wm_agent_iris.actor_critic_loss import ActorCriticLoss, actor_critic_loss
from wm_agent_iris.config import ComputeConfig, IRISConfig
from wm_agent_iris.imagination import Context, Dream, imagine
from wm_agent_iris.tokenizer.losses import TokenizerLoss, tokenizer_loss
from wm_agent_iris.tokenizer.lpips import LPIPSPerceptualLoss
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer
from wm_agent_iris.world_model.world_model import IRISWorldModel, WorldModelBatch, WorldModelLoss
from wm_torchkit.checkpoint import write_checkpoint
from wm_torchkit.device import autocast
from wm_torchkit.sampling import sample
from wm_torchkit.weights import load_weights


class IRISAgent(nn.Module):
    """The whole agent. Frames are (..., 3, S, S), uint8 or float in [0, 1]; generators are on its device."""

    CHECKPOINT_FORMAT: ClassVar[str] = checkpoint.FORMAT
    """A checkpoint of another one is refused."""

    def __init__(self, config: IRISConfig, action_size: int) -> None:
        super().__init__()
        self.config = config
        self.action_size = action_size
        self.tokenizer = IRISTokenizer(config.tokenizer, config.compute)
        self.world_model = IRISWorldModel(
            config.world_model,
            vocabulary_size=config.tokenizer.vocabulary_size,
            tokens_per_frame=config.tokenizer.tokens_per_frame,
            action_size=action_size,
            compute=config.compute,
        )
        self.actor_critic = IRISActorCritic(
            config.actor_critic,
            image_size=config.tokenizer.image_size,
            action_size=action_size,
            compute=config.compute,
        )

    @classmethod
    def from_config(
        cls, config: IRISConfig, *, action_size: int, device: str | torch.device = "cpu", seed: int = 0
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

        `compute` replaces how it is computed. `CheckpointError` when the file is no such checkpoint. The LPIPS
        weights inside a published one are left out; `build_perceptual_loss(path)` reads them.
        """
        path = Path(path).expanduser()
        if path.suffix == ".safetensors":
            saved = checkpoint.read(path)
            config, action_size, weights = saved.config, saved.action_size, saved.weights
        else:
            imported = published.load(path)
            config, action_size, weights = IRISConfig(), imported.action_size, imported.weights
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

        `env` are the fields of the EnvSpec it was trained in; `notes` say what a user must know of the weights,
        such as the `source` of the perceptual loss.
        """
        described = checkpoint.header(self.config, self.action_size).model_copy(
            update={"env": dict(env or {}), "counters": dict(counters or {}), "notes": dict(notes or {})}
        )
        return write_checkpoint(Path(path), described, self.state_dict())

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.actor_critic.actor.weight.device

    def precision(self) -> AbstractContextManager[object]:
        """The autocast of `compute.precision`; everything below runs inside it."""
        return autocast(self.device, self.config.compute.precision)

    @torch.no_grad()
    def act(
        self,
        frames: Tensor,
        state: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
        temperature: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Sample actions (B,) for frames (B, 3, S, S), and the state to pass with the next ones.

        Without `state` an episode begins. The temperature is that of evaluation unless given.
        """
        logits, state = self.policy(frames, state)
        return sample(logits, generator, temperature or self.config.imagination.evaluation_temperature), state

    @torch.no_grad()
    def policy(self, frames: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The logits (B, A) of the actions for frames (B, 3, S, S), and the state after them.

        A lane whose episode begins has zeros in `state[:, :, lane]`.
        """
        with self.precision():
            seen = self.tokenizer.reconstruct(frames.to(self.device))
            before = self.actor_critic.initial_state(len(frames)) if state is None else state
            output = self.actor_critic(seen.unsqueeze(1), before)
        return output.logits[:, 0], output.state

    @torch.no_grad()
    def context(self, frames: Tensor, burn_in_frames: Tensor | None = None, mask: Tensor | None = None) -> Context:
        """Where dreams from real frames (B, 3, S, S) begin, after those before them (B, T, 3, S, S), if any.

        `mask` (B, T) is false on padding, at the left; without it all frames count.
        """
        frames = frames.to(self.device)
        before = frames.new_empty(len(frames), 0, *frames.shape[1:])
        before = before if burn_in_frames is None else burn_in_frames.to(self.device)
        counted = torch.ones(before.shape[:2], dtype=torch.bool) if mask is None else mask
        with self.precision():
            tokens = self.tokenizer.encode(frames)
            seen = self.tokenizer.decode(tokens)
            seen_before = self.tokenizer.reconstruct(before) if before.shape[1] else before.float()
        return Context(tokens, seen, seen_before, counted.to(self.device))

    def imagine_rollout(
        self,
        frames: Tensor,
        horizon: int = 20,
        burn_in_frames: Tensor | None = None,
        *,
        actions: Tensor | None = None,
        generator: torch.Generator | None = None,
        temperature: float = 1.0,
    ) -> Dream:
        """Dream on from real frames (B, 3, S, S) with the policy, or with the actions given (B, horizon).

        `burn_in_frames` (B, T, 3, S, S) are those before them, from which the policy's memory is built.
        """
        if frames.dim() != 4:
            raise ValueError(f"frames must be (B, 3, S, S), one a dream, not {tuple(frames.shape)}")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; a dream has at least 1 step")
        if frames.is_floating_point() and not bool(((frames >= 0) & (frames <= 1)).all()):
            raise ValueError("float frames must lie in [0, 1]; give uint8 frames, or divide by 255")
        if actions is not None and actions.shape != (len(frames), horizon):
            raise ValueError(f"actions must be {(len(frames), horizon)}, not {tuple(actions.shape)}")
        return self.dream(
            self.context(frames, burn_in_frames),
            horizon=horizon,
            generator=generator,
            temperature=temperature,
            actions=actions,
            with_last_frame=True,
        )

    def dream(
        self,
        context: Context,
        *,
        horizon: int,
        generator: torch.Generator | None,
        temperature: float = 1.0,
        actions: Tensor | None = None,
        with_last_frame: bool = False,
    ) -> Dream:
        """Dream `horizon` steps on from `context`."""
        with self.precision():
            return imagine(
                self.tokenizer,
                self.world_model,
                self.actor_critic,
                context,
                self.actor_critic.burn_in(context.burn_in, context.mask),
                horizon=horizon,
                generator=generator,
                temperature=temperature,
                actions=actions,
                with_last_frame=with_last_frame,
            )

    def tokenizer_loss(
        self, frames: Tensor, perceptual: LPIPSPerceptualLoss | None, generator: torch.Generator | None = None
    ) -> TokenizerLoss:
        """Of frames (B, 3, S, S); see `tokenizer.losses.tokenizer_loss`."""
        with self.precision():
            return tokenizer_loss(self.tokenizer, frames, perceptual, generator)

    def world_model_loss(self, batch: WorldModelBatch, generator: torch.Generator | None = None) -> WorldModelLoss:
        """Of sequences of tokens; see `IRISWorldModel.loss`."""
        with self.precision():
            return self.world_model.loss(batch, generator)

    def actor_critic_loss(self, context: Context, generator: torch.Generator | None) -> ActorCriticLoss:
        """Dream on from `context` and learn from the dream.

        The dream records no gradient. The policy then reads all its frames again in one pass; the gradient runs
        through the LSTM over the horizon, and not through the frames or what came before them.
        """
        config = self.config.imagination
        dream = self.dream(context, horizon=config.horizon, generator=generator, temperature=config.temperature)
        with self.precision():
            policy = self.actor_critic(dream.frames, dream.state)
        return actor_critic_loss(dream, policy.logits, policy.values, config)
