"""The world model: what the transformer is trained on, and a step of the environment it imagines. Section 2.2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_iris.config import ComputeConfig, WorldModelConfig
from wm_agent_iris.world_model.cache import KVCache
from wm_agent_iris.world_model.transformer import IRISTransformer, TransformerOutput
from wm_torchkit.sampling import sample

IGNORED = -100


class WorldModelBatch(NamedTuple):
    """Sequences of T steps, padded at the right. All on one device."""

    tokens: Tensor
    """int64 (B, T, K); those of a frozen tokenizer may be stored and used again."""
    actions: Tensor
    """int64 (B, T)"""
    rewards: Tensor
    """float (B, T)"""
    ends: Tensor
    """bool (B, T)"""
    mask: Tensor
    """bool (B, T), false on padding."""


@dataclass(frozen=True)
class WorldModelLoss:
    """`total` is to be minimised, a scalar with gradient: the sum of the three parts."""

    total: Tensor
    observations: Tensor
    rewards: Tensor
    ends: Tensor

    def metrics(self) -> dict[str, Tensor]:
        """All of them by name, detached."""
        return {name: value.detach() for name, value in vars(self).items()}


class ImaginedStep(NamedTuple):
    """What an action led to."""

    rewards: Tensor
    """float (B,)"""
    ends: Tensor
    """bool (B,)"""
    tokens: Tensor | None
    """int64 (B, K), the next frame; None when it was not asked for."""


class IRISWorldModel(nn.Module):
    """The transformer with its losses and its samples: p(z_{t+1}, r_t, d_t | z_{<=t}, a_{<=t})."""

    def __init__(
        self,
        config: WorldModelConfig,
        *,
        vocabulary_size: int,
        tokens_per_frame: int,
        action_size: int,
        compute: ComputeConfig | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.transformer = IRISTransformer(
            config,
            vocabulary_size=vocabulary_size,
            tokens_per_frame=tokens_per_frame,
            action_size=action_size,
            compute=compute,
        )

    def loss(self, batch: WorldModelBatch, generator: torch.Generator | None = None) -> WorldModelLoss:
        """Cross-entropies of tokens, rewards and ends; the tokens of the first frame but its first are predicted.

        In training mode, dropout is drawn from a seed taken from `generator`.
        """
        with _dropout_from(generator, batch.tokens.device):
            output = self.transformer(batch.tokens, batch.actions)
        labels = batch.tokens.masked_fill(~batch.mask.unsqueeze(-1), IGNORED).flatten(1)
        observations = _cross_entropy(output.observations[:, :-1], labels[:, 1:])
        rewards = self._reward_loss(output, batch.rewards, batch.mask)
        ends = _cross_entropy(output.ends, batch.ends.long().masked_fill(~batch.mask, IGNORED))
        return WorldModelLoss(observations + rewards + ends, observations, rewards, ends)

    def imagine_from(self, tokens: Tensor, actions: Tensor | None = None) -> KVCache:
        """Begin imagining after frames (B, T, K) or one frame (B, K), and the T-1 actions between them."""
        frames = tokens.unsqueeze(1) if tokens.dim() == 2 else tokens
        cache = self.transformer.init_cache(len(frames))
        self.transformer.prime_cache(cache, frames, actions)
        return cache

    def step(
        self, cache: KVCache, actions: Tensor, generator: torch.Generator | None, *, with_frame: bool = True
    ) -> ImaginedStep:
        """Act (B,) in imagination: reward, end and next frame are sampled (a regressed reward is its mean)."""
        generated = self.transformer.generate_frame_cached(cache, actions, generator, with_frame=with_frame)
        if self.config.reward_loss == "cross_entropy":
            rewards = sample(generated.rewards, generator).float() - 1
        else:
            rewards = generated.rewards.squeeze(-1).float()
        return ImaginedStep(rewards, sample(generated.ends, generator).bool(), generated.tokens)

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """For AdamW: the weights of linear layers decay; biases, norms and embeddings do not."""
        decayed = [m.weight for m in self.modules() if isinstance(m, nn.Linear)]
        chosen = {id(weight) for weight in decayed}
        others = [parameter for parameter in self.parameters() if id(parameter) not in chosen]
        return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]

    def _reward_loss(self, output: TransformerOutput, rewards: Tensor, mask: Tensor) -> Tensor:
        target = rewards.sign() if self.config.reward_transform == "sign" else rewards
        if self.config.reward_loss == "cross_entropy":
            return _cross_entropy(output.rewards, (target.long() + 1).masked_fill(~mask, IGNORED))
        error = (output.rewards.squeeze(-1).float() - target).square()
        return (error * mask).sum() / mask.sum()


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


@contextmanager
def _dropout_from(generator: torch.Generator | None, device: torch.device) -> Iterator[None]:
    """Seed the dropout inside from `generator`, and leave torch's own generators as they were."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng([device] if device.type == "cuda" else [], device_type=device.type):
        torch.manual_seed(seed)
        yield
