"""Requests and answers. A request is {"op": ..., ...}; an answer is {...}, {"error": ...} or {"lost": ...}."""

from __future__ import annotations

import platform
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from wm_env_minecraft import wire
from wm_env_minecraft.server.games import GAMES, Game, GameLost
from wm_env_minecraft.server.spaces import described


class Server:
    """One game and its operations: hello, make, seed, reset, step, close."""

    def __init__(self) -> None:
        self._game: Game | None = None
        self._operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "hello": self._hello,
            "make": self._make,
            "seed": self._seed,
            "reset": self._reset,
            "step": self._step,
            "close": self._close,
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request. Whatever the game raises becomes an answer."""
        try:
            return self._operations[request["op"]](request)
        except GameLost as lost:
            return {"lost": str(lost)}
        except Exception as error:  # noqa: BLE001 - a game may raise anything, and the harness has to hear of it
            with suppress(OSError):  # whoever read it may be gone
                traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}"}

    def _hello(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"protocol": wire.PROTOCOL, "python": platform.python_version(), "numpy": np.__version__}

    def _make(self, request: dict[str, Any]) -> dict[str, Any]:
        self._close(request)
        game = self._game = GAMES[request["backend"]](request["task"], request["arguments"])
        return {
            "action_space": described(game.env.action_space),
            "observation_space": described(game.env.observation_space),
            "max_episode_steps": game.max_episode_steps,
            "versions": {name: getattr(sys.modules.get(name), "__version__", None) for name in ("gym", game.package)},
        }

    def _seed(self, request: dict[str, Any]) -> dict[str, Any]:
        self._made().env.seed(request["seed"])
        return {}

    def _reset(self, request: dict[str, Any]) -> dict[str, Any]:
        observation = self._made().reset()
        return {"observation": observation}

    def _step(self, request: dict[str, Any]) -> dict[str, Any]:
        observation, reward, done, info = self._made().step(request["action"])
        return {"observation": observation, "reward": float(reward), "done": bool(done), "info": info}

    def _close(self, request: dict[str, Any]) -> dict[str, Any]:
        game, self._game = self._game, None
        if game is not None:
            game.env.close()
        return {}

    def _made(self) -> Game:
        if self._game is None:
            raise RuntimeError("make comes first")
        return self._game


def serve(channel: socket.socket) -> None:
    """Answer requests until the other side closes the connection; then close the game."""
    server = Server()
    try:
        while True:
            request = wire.receive(channel)
            wire.send(channel, server.answer(request))
            if request["op"] == "close":
                return
    except wire.Closed:
        server.answer({"op": "close"})
