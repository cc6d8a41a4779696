"""Round trips a second over the bridge to another Python.

    python benchmarks/bridge.py [--python PYTHON] [--steps 4000] [--rounds 5]

PYTHON (this one, unless said otherwise) needs numpy. A step sends an action of ten keys and receives a picture; the
game behind it makes none, so what is measured is the bridge. `bare` is the same socket and the same bytes with no
protocol: one process asks with a byte, the other answers with a picture's bytes. Rounds alternate; medians are printed.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from wm_core.errors import EnvironmentFailure
from wm_env_minecraft.actions import DEFAULT_ACTION_SET
from wm_env_minecraft.minecraft_env import MinecraftEnv

SIZES = ((64, 64), (360, 640))

# A library 'minedojo' whose game is a constant picture, with MineRL's keys. It needs no gym.
GAME = """
import numpy as np

class Box:
    def __init__(self, shape, dtype, low, high):
        self.shape, self.dtype, self.low, self.high = shape, dtype, np.array(low), np.array(high)

class Discrete:
    n = 2

class Dict:
    def __init__(self, **spaces):
        self.spaces = spaces

KEYS = "attack back forward jump left right sneak sprint use".split()

class Env:
    def __init__(self, height, width):
        self.action_space = Dict(camera=Box((2,), np.float32, -180, 180), **{key: Discrete() for key in KEYS})
        self.observation_space = Dict(pov=Box((height, width, 3), np.uint8, 0, 255))
        self.picture = np.zeros((height, width, 3), np.uint8)
        self.unwrapped, self.prev_obs = self, None

    def reset(self):
        return {"pov": self.picture}

    def step(self, action):
        return {"pov": self.picture}, 0.0, False, {}

    def close(self):
        pass

def make(task, image_size):
    return Env(*image_size)
"""

ECHO = """
import socket, sys
channel, answer = socket.socket(fileno=int(sys.argv[1])), bytes(int(sys.argv[2]))
while channel.recv(1):
    channel.sendall(answer)
"""


def bridge(python: Path, size: tuple[int, int], steps: int) -> float:
    """Steps per second of `MinecraftEnv`."""
    arguments = {"image_size": list(size)}
    with closing(
        MinecraftEnv("minedojo", "picture", python=python, action_set=DEFAULT_ACTION_SET, arguments=arguments)
    ) as env:
        env.reset()
        started = time.perf_counter()
        for step in range(steps):
            env.step(step % 13)
        return steps / (time.perf_counter() - started)


def bare(python: Path, size: tuple[int, int], steps: int) -> float:
    """Answers per second of as many bytes over a Unix socket."""
    ours, theirs = socket.socketpair()
    count = size[0] * size[1] * 3
    with ours, theirs:
        command = [str(python), "-c", ECHO, str(theirs.fileno()), str(count)]
        with subprocess.Popen(command, pass_fds=(theirs.fileno(),)):
            view = memoryview(bytearray(count))
            ours.sendall(b"?")  # it has started once it answers
            ours.recv_into(view, count, socket.MSG_WAITALL)
            started = time.perf_counter()
            for _ in range(steps):
                ours.sendall(b"?")
                filled = 0
                while filled < count:
                    filled += ours.recv_into(view[filled:])
            elapsed = time.perf_counter() - started
            ours.shutdown(socket.SHUT_RDWR)
    return steps / elapsed


def with_game(python: Path, folder: Path) -> Path:
    """A launcher of `python` that also finds the game."""
    (folder / "minedojo.py").write_text(GAME)
    launcher = folder / "python"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}" exec "{python}" "$@"\n')
    launcher.chmod(0o755)
    return launcher


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {arguments.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        launcher = with_game(arguments.python, Path(folder))
        for size in SIZES:
            steps = arguments.steps if size == SIZES[0] else arguments.steps // 8
            speeds: dict[str, list[float]] = {"bridge": [], "bare": []}
            for _ in range(arguments.rounds):
                try:
                    speeds["bridge"].append(bridge(launcher, size, steps))
                except EnvironmentFailure as failure:
                    parser.exit(2, f"error: {failure}\n")
                speeds["bare"].append(bare(arguments.python, size, steps))
            ratio = statistics.median(b / a for b, a in zip(speeds["bridge"], speeds["bare"], strict=True))
            medians = {name: statistics.median(values) for name, values in speeds.items()}
            print(
                f"{size[0]}x{size[1]}x3: {medians['bridge']:.0f} round trips/s "
                f"(lowest {min(speeds['bridge']):.0f}); bare socket {medians['bare']:.0f}; ratio {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
