"""The dynamics model: a masked transformer over tokens, told latent actions. Section 2.1, Appendix C.3.

A frame is predicted from a draft of itself, in which tokens not yet known are a mask token, from the frames before it,
and from the latent actions up to it; the action of step t is added to all tokens of frame t+1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.cache import TemporalCache
from wm_agent_genie.config import DynamicsConfig
from wm_agent_genie.st_transformer import STTransformer


class DynamicsCache:
    """The past that a dynamics model has read, and its keys and values."""

    def __init__(self, temporal: TemporalCache) -> None:
        self.temporal = temporal
        self._tokens: Tensor | None = None
        self._actions: Tensor | None = None

    def keep_common(self, tokens: Tensor, actions: Tensor) -> int:
        """Forget what is no beginning of frames (B, T, N) and the actions before each (B, T, d); frames left."""
        kept = min(self.temporal.length, tokens.shape[1])
        if self._tokens is None or self._actions is None:
            kept = 0
        else:
            same = (self._tokens[:, :kept] == tokens[:, :kept]).all(dim=2)
            same &= (self._actions[:, :kept] == actions[:, :kept]).all(dim=2)
            kept = int(same.all(dim=0).long().cumprod(dim=0).sum())
        self.temporal.keep(kept)
        self._tokens, self._actions = tokens, actions
        return kept


class DynamicsModel(nn.Module):
    """Logits of tokens (B, T, N) among `vocabulary_size`, given action vectors (B, T-1, action_dim)."""

    def __init__(
        self,
        config: DynamicsConfig,
        *,
        vocabulary_size: int,
        tokens_per_frame: int,
        action_dim: int,
        frames: int,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.vocabulary_size, self.tokens_per_frame, self.frames = vocabulary_size, tokens_per_frame, frames
        d = config.transformer.embedding_dim
        self.mask_token = vocabulary_size
        """The token that stands for one not known."""
        self.token_embedding = nn.Embedding(vocabulary_size + 1, d)
        self.action_projection = nn.Linear(action_dim, d)
        self.transformer = STTransformer(
            config.transformer, tokens=tokens_per_frame, frames=frames, recompute=recompute
        )
        self.head = nn.Linear(d, vocabulary_size)
        nn.init.normal_(self.token_embedding.weight, std=0.02)

    def forward(self, tokens: Tensor, actions: Tensor) -> Tensor:
        """Logits (B, T, N, K) for tokens (B, T, N), unknown ones the mask token, and actions (B, T-1, action_dim)."""
        if actions.shape[1] != tokens.shape[1] - 1:
            raise ValueError(
                f"{tokens.shape[1]} frames have {tokens.shape[1] - 1} actions between them; {actions.shape[1]} given"
            )
        embedded = self._embed(tokens, F.pad(actions, (0, 0, 1, 0)), first=True)
        logits: Tensor = self.head(self.transformer(embedded))
        return logits

    def masked(self, tokens: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """A copy of tokens (B, T, N) with the mask token in places, and a bool tensor of those places.

        The first frame is never masked; the others in each place with a chance drawn from U(mask_rate_min, 1),
        one a clip. `tokens` themselves are left as they are: they are the targets.
        """
        b, low = len(tokens), self.config.mask_rate_min
        rate = low + (1 - low) * torch.rand(b, 1, 1, generator=generator, device=tokens.device)
        mask = torch.rand(tokens.shape, generator=generator, device=tokens.device) < rate
        mask[:, 0] = False
        return tokens.masked_fill(mask, self.mask_token), mask

    def loss(
        self, tokens: Tensor, actions: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy on the masked tokens alone, a scalar with gradient; `accuracy` on them, and `masked`.

        No gradient reaches the actions (B, T-1, action_dim). `masked` is the share of tokens that were.
        """
        if tokens.shape[1] < 2:
            raise ValueError("a clip of one frame has nothing to predict; give at least two")
        inputs, mask = self.masked(tokens, generator)
        logits = self(inputs, actions.detach())[mask].float()
        targets = tokens[mask]
        # The sum over none is 0, where their mean is undefined.
        loss = F.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))
        right = (logits.detach().argmax(dim=1) == targets).float().sum() / max(1, len(targets))
        return loss, {"cross_entropy": loss.detach(), "accuracy": right, "masked": mask.float().mean()}

    def new_cache(self, batch: int) -> DynamicsCache:
        """An empty one for B clips."""
        return DynamicsCache(self.transformer.new_cache(batch))

    @torch.no_grad()
    def read(self, cache: DynamicsCache, tokens: Tensor, actions: Tensor) -> None:
        """Have the cache stand for frames (B, T, N) and the T-1 actions between them, reading only what is new."""
        before = F.pad(actions, (0, 0, 1, 0))
        kept = cache.keep_common(tokens, before)
        if kept < tokens.shape[1]:
            embedded = self._embed(tokens[:, kept:], before[:, kept:], first=kept == 0)
            self.transformer.extend(embedded, cache.temporal, remember=True)

    @torch.no_grad()
    def draft_logits(self, cache: DynamicsCache, draft: Tensor, action: Tensor) -> Tensor:
        """Logits (B, N, K) for a draft (B, N) of the frame after those read, to which action (B, action_dim) leads."""
        embedded = self._embed(draft.unsqueeze(1), action.unsqueeze(1), first=False)
        logits: Tensor = self.head(self.transformer.extend(embedded, cache.temporal, remember=False)[:, 0])
        return logits

    def _embed(self, tokens: Tensor, actions_before: Tensor, *, first: bool) -> Tensor:
        """Tokens (B, S, N) plus the action that led to each frame (B, S, action_dim); none led to the `first`."""
        acted = self.action_projection(actions_before)
        if first:
            acted = torch.cat([torch.zeros_like(acted[:, :1]), acted[:, 1:]], dim=1)
        embedded: Tensor = self.token_embedding(tokens) + acted.unsqueeze(2)
        return embedded
