"""The policy: latent actions from frames, cloned from labelled video. Section 3.3, Appendix E."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.config import GenieConfig, PolicyConfig
from wm_agent_genie.patches import Patches
from wm_agent_genie.st_transformer import STTransformer


class GeniePolicy(nn.Module):
    """Frames (B, T, C, H, W) in [0, 1], T <= context, and the actions between them to logits (B, T, actions)."""

    def __init__(
        self,
        config: PolicyConfig,
        *,
        image_size: tuple[int, int],
        channels: int,
        actions: int,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.config, self.actions = config, actions
        self.patches = Patches(image_size, channels, config.patch_size)
        d = config.transformer.embedding_dim
        self.patch_embedding = nn.Linear(self.patches.dim, d)
        self.action_embedding = nn.Embedding(actions, d)
        self.transformer = STTransformer(
            config.transformer, tokens=self.patches.count, frames=config.context, recompute=recompute
        )
        self.hidden = nn.Linear(d, config.hidden_dim)
        self.head = nn.Linear(config.hidden_dim, actions)
        nn.init.normal_(self.action_embedding.weight, std=0.02)

    @classmethod
    def of(cls, config: GenieConfig, actions: int) -> Self:
        """The policy of an agent that chooses among `actions`."""
        return cls(
            config.policy,
            image_size=config.image_size,
            channels=config.channels,
            actions=actions,
            recompute=config.compute.gradient_checkpointing,
        )

    def forward(self, frames: Tensor, previous: Tensor) -> Tensor:
        """Logits of the action after each frame; `previous` int64 (B, T-1) are those before frames 1..T-1."""
        acted = F.pad(self.action_embedding(previous), (0, 0, 1, 0)).unsqueeze(2)
        seen = self.transformer(self.patch_embedding(self.patches.split(frames)) + acted).mean(dim=2)
        logits: Tensor = self.head(torch.relu(self.hidden(seen)))
        return logits.float()
