"""The transformer G over frames' tokens and actions. Section 2.2 and Appendix A.2, Table 4.

A sequence is (z_0^1 ... z_0^K, a_0, z_1^1 ... z_1^K, a_1, ...): T steps of K tokens and an action.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_iris.config import ComputeConfig, WorldModelConfig
from wm_agent_iris.tokenizer.blocks import run
from wm_agent_iris.world_model.cache import KVCache, LayerKeys
from wm_agent_iris.world_model.compiled import CompiledPass
from wm_agent_iris.world_model.heads import END_CLASSES, REWARD_CLASSES, Head, token_positions
from wm_torchkit.sampling import sample


class TransformerOutput(NamedTuple):
    """Predictions at every step of sequences of T steps."""

    observations: Tensor
    """(B, T K, N) logits; [:, :-1] belong to the tokens [:, 1:]."""
    rewards: Tensor
    """(B, T, 3) logits of -1, 0, 1; with reward_loss 'mse' (B, T, 1), the reward itself."""
    ends: Tensor
    """(B, T, 2) logits of going on and of ending."""


class GeneratedStep(NamedTuple):
    """What follows one action."""

    rewards: Tensor
    """(B, 3) or (B, 1), as above."""
    ends: Tensor
    """(B, 2)"""
    tokens: Tensor | None
    """(B, K) the next frame, sampled; None when it was not asked for."""
    observations: Tensor | None
    """(B, K, N) the logits that each of its tokens was drawn from."""


class CausalSelfAttention(nn.Module):
    """Multi-head attention to the past and to oneself, with queries, keys and values from one product."""

    def __init__(self, config: WorldModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.attention_dropout
        self.qkv = nn.Linear(config.embedding_dim, 3 * config.embedding_dim)
        self.projection = nn.Linear(config.embedding_dim, config.embedding_dim)
        self.residual_dropout = nn.Dropout(config.residual_dropout)

    def forward(self, x: Tensor, cache: LayerKeys | None = None, mask: Tensor | None = None) -> Tensor:
        """(B, S, D) to the same shape. With a cache, the S positions follow those in it; `mask` is (S, past + S)."""
        b, s, d = x.shape
        q, k, v = self.qkv(x).reshape(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.extend(k, v)
        causal = s > 1 and mask is None
        dropout = self.dropout if self.training else 0.0
        with torch.autocast(x.device.type, enabled=False):
            y = F.scaled_dot_product_attention(q.to(k.dtype), k, v, mask, dropout, is_causal=causal)
        return cast(Tensor, self.residual_dropout(self.projection(y.transpose(1, 2).reshape(b, s, d))))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: WorldModelConfig) -> None:
        super().__init__()
        d = config.embedding_dim
        self.norm1 = nn.LayerNorm(d)
        self.attention = CausalSelfAttention(config)
        self.norm2 = nn.LayerNorm(d)
        self.mlp = nn.Sequential(
            nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(config.residual_dropout)
        )

    def forward(self, x: Tensor, cache: LayerKeys | None = None, mask: Tensor | None = None) -> Tensor:
        """(B, S, D) to the same shape."""
        x = x + self.attention(self.norm1(x), cache, mask)
        return x + cast(Tensor, self.mlp(self.norm2(x)))


class IRISTransformer(nn.Module):
    """Embeddings, blocks and heads. `forward` reads whole sequences; the cached methods imagine, token by token."""

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
        compute = compute or ComputeConfig()
        self.config = config
        self.tokens_per_frame = tokens_per_frame
        self.recompute = compute.gradient_checkpointing
        self._compiled = CompiledPass(self._through) if compute.compile else None
        d = config.embedding_dim
        self.token_embedding = nn.Embedding(vocabulary_size, d)
        self.action_embedding = nn.Embedding(action_size, d)
        self.position_embedding = nn.Parameter(torch.empty(config.timesteps * (tokens_per_frame + 1), d))
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm_out = nn.LayerNorm(d)
        self.observation_head = Head(d, vocabulary_size)
        rewards = REWARD_CLASSES if config.reward_loss == "cross_entropy" else 1
        self.reward_head = Head(d, rewards, config.reward_and_end_heads)
        self.end_head = Head(d, END_CLASSES, config.reward_and_end_heads)
        self.apply(_initialise)
        nn.init.normal_(self.position_embedding, std=0.02)

    def forward(self, tokens: Tensor, actions: Tensor) -> TransformerOutput:
        """Tokens (B, T, K) and actions (B, T), int64, T at most `timesteps`."""
        hidden = self.hidden(tokens, actions)
        steps = hidden.reshape(*tokens.shape[:2], self.tokens_per_frame + 1, -1)
        at_actions = steps[:, :, -1]
        observations = self.observation_head(token_positions(steps, self.tokens_per_frame))
        return TransformerOutput(observations, self.reward_head(at_actions), self.end_head(at_actions))

    def hidden(self, tokens: Tensor, actions: Tensor) -> Tensor:
        """The normalised output of the last block, (B, T (K+1), D)."""
        x = self.embedding_dropout(self._embed(tokens, actions))
        for block in self.blocks:
            x = run(block, x, self.recompute)
        return cast(Tensor, self.norm_out(x))

    def init_cache(self, batch_size: int) -> KVCache:
        """An empty cache for `batch_size` sequences, in the precision that is on now.

        On a CPU it is in float32 always: attention of one query to bfloat16 keys is five times as slow there.
        """
        c, device = self.config, self.position_embedding.device
        mixed = torch.is_autocast_enabled(device.type) and device.type != "cpu"
        dtype = torch.get_autocast_dtype(device.type) if mixed else self.position_embedding.dtype
        like = torch.empty(0, dtype=dtype, device=device)
        head_dim = c.embedding_dim // c.heads
        return KVCache(c.layers, batch_size, c.heads, head_dim, c.timesteps, self.tokens_per_frame, like)

    @torch.no_grad()
    def prime_cache(self, cache: KVCache, tokens: Tensor, actions: Tensor | None = None) -> None:
        """Start over from T frames (B, T, K) and the T-1 actions between them (B, T-1), absent for one frame.

        Of more frames than `timesteps`, the newest are kept.
        """
        self._refuse_training()
        if actions is None:
            actions = tokens.new_empty(len(tokens), 0)
        if actions.shape[1] != tokens.shape[1] - 1:
            raise ValueError(
                f"{tokens.shape[1]} frames need the {tokens.shape[1] - 1} actions between them, not {actions.shape[1]}"
            )
        newest = self.config.timesteps
        tokens, actions = tokens[:, -newest:], actions[:, max(0, actions.shape[1] + 1 - newest) :]
        cache.remember(tokens, actions)
        self._extend(cache, self._embed(tokens, actions)[:, :-1])

    @torch.no_grad()
    def generate_frame_cached(
        self,
        cache: KVCache,
        actions: Tensor,
        generator: torch.Generator | None = None,
        *,
        temperature: float = 1.0,
        with_frame: bool = True,
    ) -> GeneratedStep:
        """Read actions (B,) and imagine what follows: reward and end, then the next frame, token by token.

        One pass for the waiting token and the action, one for each further token but the last, which waits:
        K passes a frame. Past the context limit, when `timesteps` frames are in the window and another is
        wanted, the oldest are dropped so that half of `timesteps` stay, and the cache is primed with those anew,
        counted from position 0; every prediction is thus that of `forward` on the window. Without
        `with_frame` only reward and end are predicted, and the cache must be primed before it goes on.
        """
        self._refuse_training()
        if with_frame and cache.frames == self.config.timesteps:
            self.prime_cache(cache, *cache.window(self.config.timesteps // 2))
        cache.actions[:, cache.frames - 1] = actions
        waiting = self.token_embedding(cache.tokens[:, cache.frames - 1, -1])
        pair = torch.stack([waiting, self.action_embedding(actions)], dim=1)
        h = self._extend(cache, pair + self._positions(cache.length, 2))[:, -1]
        rewards, ends = self.reward_head(h), self.end_head(h)
        if not with_frame:
            return GeneratedStep(rewards, ends, None, None)
        frame, logits = cache.tokens[:, cache.frames], []
        for k in range(self.tokens_per_frame):
            if k > 0:
                token = self.token_embedding(frame[:, k - 1 : k])
                h = self._extend(cache, token + self._positions(cache.length, 1))[:, -1]
            logits.append(self.observation_head(h))
            frame[:, k] = sample(logits[-1], generator, temperature)
        cache.frames += 1
        return GeneratedStep(rewards, ends, frame.clone(), torch.stack(logits, dim=1))

    def _embed(self, tokens: Tensor, actions: Tensor) -> Tensor:
        steps = self.token_embedding(tokens)
        b, t, _, d = steps.shape
        acted = self.action_embedding(actions)
        if actions.shape[1] < t:
            acted = F.pad(acted, (0, 0, 0, 1))
        x = torch.cat([steps, acted.unsqueeze(2)], dim=2).reshape(b, -1, d)
        x = x[:, : x.shape[1] - (t - actions.shape[1])]
        if x.shape[1] > len(self.position_embedding):
            raise ValueError(f"{t} timesteps do not fit; the transformer looks back on {self.config.timesteps}")
        return x + self._positions(0, x.shape[1])

    def _positions(self, start: int, count: int) -> Tensor:
        return self.position_embedding[start : start + count]

    def _extend(self, cache: KVCache, x: Tensor) -> Tensor:
        """Read S more embeddings (B, S, D) behind those in the cache; their outputs (B, S, D)."""
        s, mask = x.shape[1], None
        if self._compiled is not None and self._compiled.works and s <= 2 and cache.length > 0:
            compiled = self._compiled(cache, x)
            if compiled is not None:
                cache.length += s
                return compiled
        if s > 1 and cache.length > 0:
            mask = torch.ones(s, cache.length + s, dtype=torch.bool, device=x.device).tril(cache.length)
        outputs = self._through(x, cache.layers(), mask)
        cache.length += s
        return outputs

    def _through(self, x: Tensor, layers: Sequence[LayerKeys], mask: Tensor | None) -> Tensor:
        for block, layer in zip(self.blocks, layers, strict=True):
            x = block(x, layer, mask)
        return cast(Tensor, self.norm_out(x))

    def _refuse_training(self) -> None:
        if self.training:
            raise RuntimeError("dropout is on, so imagination would not be the model's: call .eval() first")


def _initialise(module: nn.Module) -> None:
    """Normal with deviation 0.02 for weights, zero for biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
