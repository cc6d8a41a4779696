"""The harness's end of the bridge: starts a game's interpreter, asks, waits for so long and no longer, and ends it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
import uuid
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wm_core.errors import EnvironmentFailure
from wm_env_minecraft import wire
from wm_env_minecraft.processes import MARK, kill_everything

_TAIL_LINES = 40
_SHOWN_CHARACTERS = 600
_NOT_LENT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


@dataclass(frozen=True)
class Timeouts:
    """Seconds that each operation may take. Minecraft starts in minutes."""

    hello: float = 60.0
    make: float = 900.0
    seed: float = 60.0
    reset: float = 900.0
    step: float = 120.0
    close: float = 30.0


class BridgeFailure(EnvironmentFailure):
    """The game's interpreter died, kept silent, or does not speak this protocol. The game is ended."""


class GameError(EnvironmentFailure):
    """The game raised; its interpreter lives on."""


class GameLost(EnvironmentFailure):
    """The library lost its Minecraft. What it returned is not an episode's end."""


class Bridge:
    """One game in an interpreter of its own. Use it in one thread."""

    def __init__(self, python: Path, timeouts: Timeouts | None = None) -> None:
        self.timeouts = timeouts or Timeouts()
        self._python = python
        self._mark = uuid.uuid4().hex
        self._channel, process, self._lines, self._reader = _started(python, self._mark)
        self._process: subprocess.Popen[bytes] = process
        self._end = weakref.finalize(self, _ended, process, self._channel, self._mark)
        self.versions = self._hello()

    @property
    def alive(self) -> bool:
        """Whether the bridge can still be used."""
        return self._end.alive

    @property
    def pid(self) -> int:
        """Process number of the game's interpreter."""
        return self._process.pid

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises `GameError` when the game raised, `GameLost` when it was lost, and `BridgeFailure`, after which the
        bridge is down, when there is no answer in time or none that can be read.
        """
        if not self.alive:
            raise BridgeFailure(f"{operation}: the bridge to {self._python} is down; make the environment again")
        timeout = getattr(self.timeouts, operation)
        try:
            wire.send(self._channel, {"op": operation, **arguments}, timeout)
            answer = wire.receive(self._channel, timeout)
        except wire.WireError as error:
            raise self._failure(operation, error) from error
        except BaseException:
            self.kill()
            raise
        if not isinstance(answer, dict):
            raise self._failure(operation, wire.Garbage(f"the answer is a {type(answer).__name__}, expected a dict"))
        if "error" in answer:
            raise GameError(f"{operation}: {_line(answer['error'])}")
        if "lost" in answer:
            raise GameLost(f"{operation}: {_line(answer['lost'])}")
        return answer

    def close(self) -> None:
        """Let the game close itself, then end whatever is left of it. May be called twice."""
        if not self.alive:
            return
        try:
            with contextlib.suppress(EnvironmentFailure, subprocess.TimeoutExpired):
                self.call("close")
                self._process.wait(self.timeouts.close)
        finally:
            self.kill()  # it had its chance: what did not end by itself is ended

    def kill(self) -> None:
        """End the game's interpreter and everything that it has started."""
        self._end()

    def _hello(self) -> dict[str, Any]:
        answer = self.call("hello", protocol=wire.PROTOCOL)
        theirs = answer.get("protocol")
        if theirs != wire.PROTOCOL:
            self.kill()
            raise BridgeFailure(
                f"hello: {self._python} speaks version {theirs} of the bridge's protocol, this harness speaks "
                f"{wire.PROTOCOL}; uninstall the other wm-env-minecraft from that interpreter"
            )
        return {name: answer.get(name) for name in ("python", "numpy")}

    def _failure(self, operation: str, error: wire.WireError) -> BridgeFailure:
        """What went wrong, how the interpreter ended, and its last words."""
        how = str(error)
        if isinstance(error, wire.Closed):
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(2.0)
                how = f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        self.kill()
        self._reader.join(1.0)
        said = "; ".join(line.strip() for line in self._lines if line.strip())
        if len(said) > _SHOWN_CHARACTERS:
            said = f"...{said[-_SHOWN_CHARACTERS:]}"
        return BridgeFailure(f"{operation}: the game's interpreter {self._python}: {how}; it last said: {said or '-'}")


def _started(python: Path, mark: str) -> tuple[socket.socket, subprocess.Popen[bytes], deque[str], threading.Thread]:
    """The interpreter with our server in it, a socket to it, and the last lines of what it prints."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_LENT}
    lent = _lent()
    environment |= {MARK: mark, "PYTHONPATH": lent, "PYTHONUNBUFFERED": "1"}
    served = ("-B", "-m", "wm_env_minecraft.server", "--fd", str(theirs.fileno()), "--parent", str(os.getpid()))
    command = [str(python), *served]
    with theirs:
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise BridgeFailure(f"{python} cannot be started: {error.strerror}; set another interpreter") from error
    lines: deque[str] = deque(maxlen=_TAIL_LINES)
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    return ours, process, lines, reader


_folder: tempfile.TemporaryDirectory[str] | None = None


def _lent() -> str:
    """A folder with nothing but a link to this package: the other interpreter must not find ours besides."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="wm-minecraft-")
        (Path(_folder.name) / "wm_env_minecraft").symlink_to(Path(__file__).parent)
    return _folder.name


def _read(stream: Any, lines: deque[str]) -> None:
    with stream:
        for line in stream:
            lines.append(line.decode("utf-8", "replace").rstrip())


def _line(message: Any) -> str:
    return " ".join(str(message).split())


def _ended(process: subprocess.Popen[bytes], channel: socket.socket, mark: str) -> None:
    channel.close()
    kill_everything(mark, process.pid)
    process.wait()
