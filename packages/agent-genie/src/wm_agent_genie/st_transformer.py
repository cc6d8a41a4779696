"""The spatiotemporal transformer. Section 2, Figure 4; Xu et al. (2020).

A block attends within each frame, then, token by token, to the past, and closes with the one feed-forward: its cost
grows with the number of frames, not with its square.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from wm_agent_genie.cache import LayerCache, TemporalCache
from wm_agent_genie.config import STTransformerConfig


class Attention(nn.Module):
    """Multi-head self-attention with queries, keys and values from one product."""

    def __init__(self, config: STTransformerConfig) -> None:
        super().__init__()
        self.heads, inner = config.heads, config.attention_dim
        self.head_dim = inner // self.heads
        self.qkv = nn.Linear(config.embedding_dim, 3 * inner)
        self.projection = nn.Linear(inner, config.embedding_dim)
        norm = (lambda: nn.LayerNorm(self.head_dim)) if config.qk_norm else nn.Identity
        self.norm_q, self.norm_k = norm(), norm()

    def over_space(self, x: Tensor) -> Tensor:
        """(B, T, N, D) to the same shape: tokens see all those of their frame."""
        b, t, n, _ = x.shape
        q, k, v = self._project(x).permute(3, 0, 1, 4, 2, 5).flatten(1, 2)
        y = F.scaled_dot_product_attention(self.norm_q(q).to(v.dtype), self.norm_k(k).to(v.dtype), v)
        return cast(Tensor, self.projection(y.transpose(1, 2).reshape(b, t, n, -1)))

    def over_time(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        """(B, S, N, D) to the same shape: tokens see those at their place in their own and in earlier frames.

        With a cache, the S frames follow those in it.
        """
        b, s, n, _ = x.shape
        q, k, v = self._project(x).permute(3, 0, 2, 4, 1, 5).flatten(1, 2)
        q, k, mask = self.norm_q(q).to(v.dtype), self.norm_k(k).to(v.dtype), None
        if cache is not None:
            k, v = cache.extend(k, v)
            q = q.to(v.dtype)
            if s > 1 and cache.start > 0:
                mask = torch.ones(s, k.shape[2], dtype=torch.bool, device=x.device).tril(cache.start)
        causal = s > 1 and mask is None
        with torch.autocast(x.device.type, enabled=False):
            y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
        y = y.reshape(b, n, self.heads, s, -1).permute(0, 3, 1, 2, 4).reshape(b, s, n, -1)
        return cast(Tensor, self.projection(y))

    def _project(self, x: Tensor) -> Tensor:
        """(B, T, N, D) to queries, keys, values (B, T, N, 3, heads, head_dim)."""
        return cast(Tensor, self.qkv(x)).reshape(*x.shape[:-1], 3, self.heads, self.head_dim)


class STBlock(nn.Module):
    """x + spatial(norm(x)), x + temporal(norm(x)), x + mlp(norm(x))."""

    def __init__(self, config: STTransformerConfig) -> None:
        super().__init__()
        d = config.embedding_dim
        self.norm_spatial, self.spatial = nn.LayerNorm(d), Attention(config)
        self.norm_temporal, self.temporal = nn.LayerNorm(d), Attention(config)
        self.norm_mlp = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        """(B, T, N, D) to the same shape."""
        x = x + self.spatial.over_space(self.norm_spatial(x))
        x = x + self.temporal.over_time(self.norm_temporal(x), cache)
        return x + cast(Tensor, self.mlp(self.norm_mlp(x)))


class STTransformer(nn.Module):
    """Blocks over frames of N tokens, with learned places in the frame and in the clip of at most T frames.

    Not `timed`, it is told no place in the clip: a frame knows which ones are past, but not how long.
    """

    def __init__(
        self, config: STTransformerConfig, *, tokens: int, frames: int, recompute: bool = False, timed: bool = True
    ) -> None:
        super().__init__()
        self.config, self.tokens, self.frames, self.recompute = config, tokens, frames, recompute
        self.place = nn.Parameter(torch.empty(tokens, config.embedding_dim))
        self.time = nn.Parameter(torch.empty(frames, 1, config.embedding_dim)) if timed else None
        self.blocks = nn.ModuleList(STBlock(config) for _ in range(config.layers))
        self.norm_out = nn.LayerNorm(config.embedding_dim)
        self.apply(_initialise)
        nn.init.normal_(self.place, std=0.02)
        if self.time is not None:
            nn.init.normal_(self.time, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, N, D) to the same shape. Frame t depends on frames 0..t alone."""
        x = self._placed(x, 0)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute and torch.is_grad_enabled() else block(x)
        return cast(Tensor, self.norm_out(x))

    def new_cache(self, batch: int) -> TemporalCache:
        """An empty one for B clips."""
        c = self.config
        head_dim = c.attention_dim // c.heads
        return TemporalCache(c.layers, batch, self.tokens, c.heads, self.frames, head_dim, self.place)

    @torch.no_grad()
    def extend(self, x: Tensor, cache: TemporalCache, *, remember: bool) -> Tensor:
        """What `forward` gives for S more frames (B, S, N, D) behind those in the cache; (B, S, N, D).

        Without `remember` the cache stands for the same frames afterwards.
        """
        if x.shape[0] != cache.batch:
            raise ValueError(f"the cache is for {cache.batch} clips, not {x.shape[0]}")
        x = self._placed(x, cache.length)
        for block, layer in zip(self.blocks, cache.layers(), strict=True):
            x = block(x, layer)
        if remember:
            cache.length += x.shape[1]
        return cast(Tensor, self.norm_out(x))

    def _placed(self, x: Tensor, start: int) -> Tensor:
        end = start + x.shape[1]
        if end > self.frames or x.shape[2] != self.tokens:
            raise ValueError(
                f"{end} frames of {x.shape[2]} tokens do not fit; the transformer is for at most {self.frames} "
                f"frames of {self.tokens} tokens"
            )
        placed = x + self.place
        return placed if self.time is None else placed + self.time[start:end]


def _initialise(module: nn.Module) -> None:
    """Normal with deviation 0.02 for weights, zero for biases."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
