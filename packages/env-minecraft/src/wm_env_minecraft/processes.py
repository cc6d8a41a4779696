"""End a game with everything it has started. Runs on Python 3.8 too.

Minecraft is started by launchers that make sessions of their own and go away, so neither the process group nor the
parent's number finds it. What it does keep is its environment, where the bridge has left a mark.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

MARK = "WM_MINECRAFT_BRIDGE"
"""Environment variable with the bridge's own random word."""


def marked(word: str) -> list[int]:
    """Numbers of the processes that were started with this mark. Empty where there is no /proc."""
    wanted, found = f"{MARK}={word}".encode(), []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


def kill_marked(word: str) -> None:
    """Kill whatever carries the mark, but for the calling process."""
    own = os.getpid()
    for number in marked(word):
        if number != own:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)


def kill_everything(word: str, group: int) -> None:
    """Kill whatever carries the mark, then the process group, and with it the calling process if it is in there."""
    kill_marked(word)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
