"""Stop at the first loss, gradient or parameter that is not finite, and say which."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from wm_core.errors import AgentFailure


class NonFiniteError(AgentFailure):
    """A loss, gradient or parameter is NaN or infinite. The weights before it are in the last checkpoint."""


def guarded_update(
    loss: Tensor,
    optimizer: torch.optim.Optimizer,
    parameters: Iterable[tuple[str, Tensor]],
    max_norm: float,
    component: str,
) -> Tensor:
    """One optimizer step on a scalar `loss`, gradients clipped to the global norm `max_norm`.

    `parameters` are the named parameters the optimizer holds (`module.named_parameters()`). Returns the norm
    before clipping, a scalar. When loss or gradients are not finite, raises `NonFiniteError` with the name of
    the first such tensor, and the weights stay as they were. Waits for the device once.
    """
    named = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_([parameter for _, parameter in named], max_norm)
    if not bool(torch.isfinite(loss.detach()) & torch.isfinite(norm)):
        check_finite(f"the loss of {component}", [("loss", loss)])
        gradients = [(name, parameter.grad) for name, parameter in named if parameter.grad is not None]
        check_finite(f"a gradient of {component}", gradients)
        raise NonFiniteError(f"the gradient norm of {component} overflowed to {float(norm)}; lower its learning rate")
    optimizer.step()
    return norm


def check_parameters(model: nn.Module) -> None:
    """Raise `NonFiniteError` naming the first parameter that is not finite."""
    check_finite("a parameter", model.named_parameters())


def check_finite(what: str, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Raise `NonFiniteError` naming the first tensor with a value that is not finite, and how many it has."""
    named = [(name, tensor.detach()) for name, tensor in tensors if tensor.is_floating_point()]
    if not named or bool(torch.stack([torch.isfinite(tensor).all() for _, tensor in named]).all()):
        return
    for name, tensor in named:
        bad = int((~torch.isfinite(tensor)).sum())
        if bad:
            raise NonFiniteError(
                f"{what} is not finite: '{name}' has {bad} of {tensor.numel()} values NaN or infinite; "
                "lower the learning rate, or look at the rewards' scale"
            )
