"""The measures of the world model that a checkpoint keeps, taken on held-out video."""

from __future__ import annotations

HORIZON = 4
UNMEASURED = -1e9
"""Stands for a measure not taken: weights files hold finite numbers only."""

MEASURES = (
    *(f"psnr_at_{h}" for h in range(1, HORIZON + 1)),
    "psnr",
    "psnr_random_actions",
    "psnr_persistence",
    "psnr_tokenizer",
    f"delta_{HORIZON}_psnr",
    "ssim",
    "ssim_persistence",
    "ssim_tokenizer",
    "codebook_perplexity",
    "latent_action_perplexity",
    "mutual_information_bits",
    "true_action_entropy_bits",
    "agreement",
    "agreement_chance",
    "expert_agreement",
    "expert_agreement_chance",
)
"""`agreement`: share of held-out transitions whose true action is the commonest one of their latent action in the map;
`agreement_chance`: the share of the commonest true action, which a map that knows nothing reaches. Those of `expert_`
are on the expert's video."""
