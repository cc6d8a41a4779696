"""Adam as V1 to V3 (2023) use it, and the optimizer of V3's later version."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from wm_agent_dreamer.config import AdamConfig, LaPropConfig


def make_adam(parameters: Iterable[Tensor], config: AdamConfig) -> torch.optim.Optimizer:
    """Adam with a decoupled weight decay that the learning rate does not scale."""
    return torch.optim.AdamW(
        parameters,
        lr=config.learning_rate,
        eps=config.epsilon,
        weight_decay=config.weight_decay / config.learning_rate,  # AdamW multiplies weights by 1 - lr * weight_decay
        fused=True,
    )


class LaProp(torch.optim.Optimizer):
    """Adaptive gradient clipping, LaProp, and a linear warm-up. DreamerV3, "Optimizer".

    For a parameter w with gradient g (Brock et al. 2021, arXiv:2102.06171; Ziyin et al. 2020, arXiv:2002.04839):

        g <- g * min(1, clip * max(|w|, 0.001) / |g|)
        v <- beta2 v + (1 - beta2) g^2,    m <- beta1 m + (1 - beta1) g / (sqrt(v / (1 - beta2^t)) + epsilon)
        w <- w - lr min(1, t / warmup) m / (1 - beta1^t)

    with norms over the whole tensor.
    """

    MIN_NORM = 1e-3

    def __init__(self, parameters: Iterable[Tensor], config: LaPropConfig) -> None:
        super().__init__(parameters, {"lr": config.learning_rate})
        self.config = config

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update. Parameters without a gradient stay."""
        if closure is not None:
            raise ValueError("LaProp takes no closure; compute the gradients before step()")
        for group in self.param_groups:
            self._update(group, [parameter for parameter in group["params"] if parameter.grad is not None])

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        if not parameters:
            return
        config = self.config
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state |= {"step": torch.zeros(()), "v": torch.zeros_like(parameter), "m": torch.zeros_like(parameter)}
            state["step"] += 1
        states = [self.state[parameter] for parameter in parameters]
        steps = [int(state["step"]) for state in states]
        v, m = [state["v"] for state in states], [state["m"] for state in states]
        gradients = self._clipped(parameters)
        torch._foreach_mul_(v, config.beta2)
        torch._foreach_addcmul_(v, gradients, gradients, 1 - config.beta2)
        scale = torch._foreach_div(v, [1 - config.beta2**step for step in steps])
        torch._foreach_sqrt_(scale)
        torch._foreach_add_(scale, config.epsilon)
        torch._foreach_div_(gradients, scale)
        torch._foreach_lerp_(m, gradients, 1 - config.beta1)
        rates = [-group["lr"] * min(1.0, step / max(1, config.warmup)) / (1 - config.beta1**step) for step in steps]
        torch._foreach_add_(parameters, torch._foreach_mul(m, rates))

    def _clipped(self, parameters: list[Tensor]) -> list[Tensor]:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        limits = torch.stack(torch._foreach_norm(parameters)).clamp(min=self.MIN_NORM) * self.config.clip
        norms = torch.stack(torch._foreach_norm(gradients))
        factors = (limits / norms.clamp(min=1e-30)).clamp(max=1.0)
        return list(torch._foreach_mul(gradients, list(factors.unbind())))
