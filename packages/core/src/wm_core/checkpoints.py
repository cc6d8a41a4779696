"""Checkpoint files as the core sees them: present, whole bytes, and a digest. What is inside is the agent's."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from wm_core.errors import CheckpointError
from wm_core.specs import Checkpoint


def file_checkpoint(path: Path) -> Checkpoint:
    """Digest a checkpoint file or directory; `CheckpointError` when it is missing, empty or unreadable."""
    path = path.expanduser().absolute()
    if not str(path).isprintable():
        raise CheckpointError(f"the checkpoint path {str(path)!r} is not plain text; rename it")
    if not path.exists():
        raise CheckpointError(f"no checkpoint at {path}; check -c / --checkpoint-map")
    try:
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        if not any(file.stat().st_size for file in files):
            raise CheckpointError(f"the checkpoint {path} is empty")
        return Checkpoint(path=str(path), sha256=_digest(path, files))
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror}") from error


def _digest(root: Path, files: list[Path]) -> str:
    if files == [root]:
        return _file_digest(root)
    whole = hashlib.sha256()
    for file in files:
        name = os.fsencode(file.relative_to(root).as_posix())
        whole.update(name + f"\0{_file_digest(file)}\n".encode())
    return whole.hexdigest()


def _file_digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
