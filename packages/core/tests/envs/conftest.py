"""What the environment tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from ale_py import ALEInterface, roms

from wm_core import registry
from wm_core.envs.atari import AtariBackend
from wm_core.envs.atari_cartridge import emulator_seed
from wm_core.specs import EnvSpec


@pytest.fixture
def atari() -> Callable[..., EnvSpec]:
    """`atari("ALE/Pong-v5", "iris", noop_max=0)`: the id's meaning, then a protocol, then fields."""

    def spec(game: str, protocol: str | None = None, **fields: Any) -> EnvSpec:
        backend = AtariBackend()
        named = backend.protocols()[protocol] if protocol else {}
        return EnvSpec.model_validate({**dict(backend.resolve(game)), **named, **fields})

    return spec


@pytest.fixture
def emulator() -> Callable[..., ALEInterface]:
    """The bare emulator, as a game with that seed begins in it."""

    def start(rom: str, seed: int, sticky: float = 0.0) -> ALEInterface:
        ale = ALEInterface()
        ale.setFloat("repeat_action_probability", sticky)
        ale.setInt("random_seed", emulator_seed(seed))
        ale.loadROM(roms.get_rom_path(rom))
        ale.reset_game()
        return ale

    return start


@pytest.fixture
def plugins() -> Iterator[None]:
    """Plugins that a test registers are forgotten after it."""
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)
    registry.load_backend.cache_clear()


@pytest.fixture
def random_actions() -> Callable[[int, int], Iterator[int]]:
    """`random_actions(n, seed)`: an endless stream of integers below n."""

    def stream(n: int, seed: int = 0) -> Iterator[int]:
        rng = np.random.default_rng(seed)
        while True:
            yield from rng.integers(n, size=256).tolist()

    return stream
