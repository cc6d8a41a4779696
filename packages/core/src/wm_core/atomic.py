"""Files that are either whole or not there: written beside the target and renamed over it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from wm_core.errors import StoreError


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8, line ends as given) in one step, making its directory where there is none.

    A reader, or a crash at any moment, sees the old file or the new one. Raises `StoreError` when the file cannot be
    written; what was there before stays.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "x", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; make room, or choose a directory that can be written to"
        ) from error
    except UnicodeEncodeError as error:
        character = error.object[error.start : error.end]
        raise StoreError(
            f"cannot write {path}: {character!r} is no character; remove it from the name or path it comes from"
        ) from error
