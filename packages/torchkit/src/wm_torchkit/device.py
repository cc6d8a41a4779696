"""Where and in which precision agents compute. float32 unless asked otherwise."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

from wm_core.errors import UsageError

Precision = Literal["float32", "bfloat16"]


def resolve_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is CUDA, then MPS, then the CPU, the first that is there.

    Raises `UsageError` for a name that is unknown, or a device that is not there.
    """
    if name == "auto":
        return torch.device(available_devices()[0])
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (index and (kind != "cuda" or not index.isdigit())):
        raise UsageError(f"unknown device '{name}'; expected auto, cpu, cuda, cuda:N or mps")
    there = available_devices()
    if kind not in there or (index and name not in there):
        raise UsageError(f"device '{name}' is not there; this machine has {', '.join(there)}")
    return torch.device(name)


def available_devices() -> list[str]:
    """Names of the devices that torch can use here, the preferred one first."""
    cuda = torch.cuda.device_count()
    return [
        *(["cuda"] if cuda else []),
        *[f"cuda:{index}" for index in range(cuda)],
        *(["mps"] if torch.backends.mps.is_available() else []),
        "cpu",
    ]


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """The context of forward passes: nothing for float32, else bfloat16 products and convolutions.

    Weights, optimizer states and losses stay float32, so no loss scaling is needed.
    """
    if precision == "float32":
        return nullcontext()
    if precision != "bfloat16":
        raise UsageError(f"unknown precision '{precision}'; expected float32 or bfloat16")
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise UsageError(f"{torch.cuda.get_device_name(device)} has no bfloat16; use precision float32")
    return torch.autocast(device.type, torch.bfloat16)


def allow_tf32(device: torch.device) -> None:
    """On CUDA, let float32 matrix products and convolutions use TF32 (10-bit mantissa): several times faster.

    A setting of the process. Does nothing elsewhere.
    """
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
