"""A checkpoint: one `.safetensors` file, whose header says in JSON what it is. Never a pickle."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import safetensors.torch
import torch
from pydantic import BaseModel, Field, ValidationError
from torch import Tensor

from wm_core.errors import CheckpointError
from wm_core.specs import Spec
from wm_torchkit.atomic_files import write_atomically

Config = TypeVar("Config", bound=BaseModel)

FORMAT = "wmbench.checkpoint/1"
_KEY = "wmbench"
_MAX_HEADER = 100_000_000
"""Safetensors' own limit, in bytes."""


class CheckpointHeader(Spec):
    """What a checkpoint says of itself."""

    format: str = FORMAT
    agent: str
    agent_format: str = Field(description="The agent's own format; another one is refused, e.g. 'iris/1'")
    config: dict[str, Any] = Field(description="The agent's configuration, complete")
    env: dict[str, Any] = Field(default_factory=dict, description="Fields of the EnvSpec it was trained in")
    counters: dict[str, int] = Field(default_factory=dict, description="epoch, updates, env_steps")
    libraries: dict[str, str] = Field(default_factory=dict, description="Versions it was written with")
    notes: dict[str, str] = Field(default_factory=dict, description="What a user must know of these weights")


def library_versions(*distributions: str) -> dict[str, str]:
    """Versions of Python, torch, numpy, the core, this distribution and the given ones."""
    names = ("torch", "numpy", "wm-core", "wm-torchkit", *distributions)
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


def write_checkpoint(path: Path, header: CheckpointHeader, tensors: Mapping[str, Tensor]) -> str:
    """Write the file atomically; its SHA-256. Raises `OSError`, and then `path` is as it was."""
    content = serialize(tensors, {_KEY: header.model_dump_json()})
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def read_header(path: Path) -> CheckpointHeader:
    """What a checkpoint says of itself, without reading its tensors.

    Raises `CheckpointError`: missing, cut, not a checkpoint, or of a format this version does not know.
    """
    text = read_metadata(path).get(_KEY)
    if text is None:
        raise CheckpointError(f"{path} holds tensors, but no wmbench header; it was not written by an agent of wmbench")
    try:
        raw = json.loads(text)
        if raw["format"] != FORMAT:
            raise CheckpointError(
                f"{path} has checkpoint format '{raw['format']}'; this wm-torchkit reads '{FORMAT}'. "
                f"It was written with wm-torchkit {raw.get('libraries', {}).get('wm-torchkit', 'unknown')}"
            )
        return CheckpointHeader.model_validate(raw)
    except (KeyError, TypeError, json.JSONDecodeError, ValidationError) as error:
        raise CheckpointError(f"{path} has a damaged wmbench header ({type(error).__name__})") from error


def stored_configuration(
    header: CheckpointHeader, path: Path, model: type[Config], actions: str, distribution: str
) -> tuple[Config, int]:
    """The configuration that a header holds, and the number of actions stored beside it under the name `actions`.

    `CheckpointError` when that is missing, or this version of `distribution` does not read the configuration.
    """
    values = dict(header.config)
    count = values.pop(actions, None)
    if not isinstance(count, int) or count < 1:
        raise CheckpointError(f"{path} does not say how many actions its agent has; it is damaged, train anew")
    try:
        return model.model_validate(values), count
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        written = header.libraries.get(distribution, "unknown")
        raise CheckpointError(
            f"{path} has a configuration that this version does not read: {name}: {first['msg']}; use the "
            f"{distribution} it was written with ({written})"
        ) from error


def read_checkpoint(
    path: Path, agent: str, agent_format: str, device: torch.device | str = "cpu"
) -> tuple[CheckpointHeader, dict[str, Tensor]]:
    """Header and tensors of a checkpoint of `agent` in `agent_format`.

    Raises `CheckpointError`: as `read_header`, or of another agent, or of a stale format.
    """
    header = read_header(path)
    if header.agent != agent:
        raise CheckpointError(
            f"{path} is a checkpoint of '{header.agent}', not of '{agent}'; use --agent {header.agent}"
        )
    if header.agent_format != agent_format:
        written = ", ".join(f"{name} {number}" for name, number in header.libraries.items() if name.startswith("wm-"))
        raise CheckpointError(
            f"{path} has format '{header.agent_format}'; this version reads '{agent_format}'. Train anew, "
            f"or use the versions it was written with ({written or 'unknown'})"
        )
    return header, read_tensors(path, device)


def serialize(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Tensors and header as the bytes of a safetensors file. Tensors that share memory are written twice."""
    seen: set[int] = set()
    separate: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        own = tensor.detach().to("cpu").contiguous()
        if own.untyped_storage().data_ptr() in seen:
            own = own.clone()
        seen.add(own.untyped_storage().data_ptr())
        separate[name] = own
    return safetensors.torch.save(separate, dict(metadata))


def read_metadata(path: Path) -> dict[str, str]:
    """The header of any safetensors file; `CheckpointError` when it is missing, cut, or something else."""
    _require_safetensors(path)
    try:
        with safetensors.safe_open(path, "pt") as opened:
            return dict(opened.metadata() or {})
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is cut or damaged ({error}); copy or download it again") from error


def read_tensors(path: Path, device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """All tensors of a safetensors file; `CheckpointError` when it is missing, cut, or something else."""
    _require_safetensors(path)
    try:
        return safetensors.torch.load_file(path, str(device))
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is cut or damaged ({error}); copy or download it again") from error


def _require_safetensors(path: Path) -> None:
    if path.is_dir():
        raise CheckpointError(f"{path} is a directory; name the .safetensors file in it")
    try:
        with path.open("rb") as stream:
            start = stream.read(9)
    except OSError as error:
        raise CheckpointError(f"cannot read a checkpoint at {path}: {error.strerror}") from error
    if not start:
        raise CheckpointError(f"{path} is empty")
    header_length = int.from_bytes(start[:8], "little")
    if start[8:] == b"{" and header_length <= _MAX_HEADER:
        return
    if start.startswith((b"PK", b"\x80")):
        raise CheckpointError(f"{path} is a torch or pickle file; expected a .safetensors checkpoint of wmbench")
    raise CheckpointError(f"{path} is not a checkpoint; expected a .safetensors file")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
