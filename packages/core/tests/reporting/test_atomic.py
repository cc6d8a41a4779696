"""A file is whole or not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wm_core.atomic import write_text
from wm_core.errors import StoreError


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    write_text(path, "old")
    write_text(path, "é\r\n")
    assert path.read_bytes() == "é\r\n".encode()
    assert [file.name for file in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=rf"cannot write {path}: No space left on device; make room"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=str(tmp_path / "file" / "under")):
        write_text(tmp_path / "file" / "under" / "it.txt", "text")


def test_an_interrupted_write_leaves_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "file.txt", "new")
    assert list(tmp_path.iterdir()) == []


def test_half_a_surrogate_pair_is_an_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no character"):
        write_text(tmp_path / "file.txt", "\udc80")
    assert list(tmp_path.iterdir()) == []


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == 0o640
