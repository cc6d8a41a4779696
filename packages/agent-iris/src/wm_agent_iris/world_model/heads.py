"""The three heads of the transformer: next token, reward, end. Section 2.2, equations 2-4."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

REWARD_CLASSES = 3
"""-1, 0, 1, in this order."""
END_CLASSES = 2
"""Goes on, ends."""


class Head(nn.Sequential):
    """Linear-ReLU-Linear from the transformer's dimension to `outputs` logits, or linear alone."""

    def __init__(self, dim: int, outputs: int, kind: Literal["mlp", "linear"] = "mlp") -> None:
        hidden = [nn.Linear(dim, dim), nn.ReLU()] if kind == "mlp" else []
        super().__init__(*hidden, nn.Linear(dim, outputs))


def token_positions(hidden: Tensor, tokens_per_frame: int) -> Tensor:
    """The positions that predict a token: all of (B, T, K+1, D) but each frame's last token; (B, T K, D).

    Of a step, the first K-1 predict that frame's following tokens and the action's position predicts the next
    frame's first one. So outputs [:, :-1] belong to the tokens [:, 1:] of the sequence without actions.
    """
    kept = torch.cat([hidden[:, :, : tokens_per_frame - 1], hidden[:, :, tokens_per_frame:]], dim=2)
    return kept.flatten(1, 2)
