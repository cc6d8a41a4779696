"""`python -m wm_env_minecraft.server --fd N --parent PID`: started by the harness, never by hand."""

from __future__ import annotations

import argparse
import os
import socket
import threading
import time

from wm_env_minecraft.processes import MARK, kill_everything, kill_marked
from wm_env_minecraft.server.serving import serve

_LOOK_EVERY_S = 0.5


def main() -> None:
    """Serve one game over the inherited socket until the other side closes it."""
    parser = argparse.ArgumentParser(prog="wm_env_minecraft.server", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="file descriptor of a connected Unix socket")
    parser.add_argument("--parent", type=int, required=True, help="process number of the harness")
    arguments = parser.parse_args()
    threading.Thread(target=_end_with, args=(arguments.parent,), daemon=True).start()
    try:
        with socket.socket(fileno=arguments.fd) as channel:
            serve(channel)
    finally:
        kill_marked(_mark())


def _end_with(parent: int) -> None:
    """When the harness is gone, however it went, go too and take the game along, even in the middle of a step."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    kill_everything(_mark(), os.getpgrp())


def _mark() -> str:
    return os.environ[MARK]


if __name__ == "__main__":
    main()
