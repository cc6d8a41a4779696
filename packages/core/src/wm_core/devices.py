"""Which device to run on, without importing a learning library for agents that need none."""

from __future__ import annotations

from collections.abc import Sequence

from wm_core.errors import UsageError


def resolve_device(asked: str | None, supported: Sequence[str]) -> str:
    """The device string for an agent that runs on the `supported` kinds.

    Without a wish: CUDA, then MPS, then the CPU, among what the agent supports and this machine has.
    `UsageError` when the wish is unknown, not there, or not supported.
    """
    if asked is None or asked == "auto":
        return next((kind for kind in ("cuda", "mps") if kind in supported and _count(kind)), "cpu")
    kind, _, index = asked.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (index and (kind != "cuda" or not index.isdigit())):
        raise UsageError(f"unknown device '{asked}'; expected auto, cpu, cuda, cuda:N or mps")
    if kind not in supported:
        raise UsageError(f"device '{asked}' is not supported by this agent; it runs on {', '.join(supported)}")
    there = _count(kind)
    if kind != "cpu" and (not there or int(index or 0) >= there):
        found = f"{there} {kind} device(s)" if there else f"no {kind} device"
        raise UsageError(
            f"device '{asked}' is not there: this machine has {found} that torch can use; try --device cpu"
        )
    return asked


def _count(kind: str) -> int:
    if kind == "cpu":
        return 1
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if kind == "cuda" else int(torch.backends.mps.is_available())
