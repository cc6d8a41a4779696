"""What the emulator says of a game: its screen, its actions, its modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ale_py
import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from ale_py.registration import rom_id_to_name

from wm_core.envs.atari_ids import game_of
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

ALEInterface.setLoggerMode(LoggerMode.Error)


@dataclass(frozen=True)
class Cartridge:
    """One game. Actions are in the emulator's order; an agent's action is an index into its set."""

    path: Path
    screen: tuple[int, int]
    minimal_actions: tuple[ale_py.Action, ...]
    all_actions: tuple[ale_py.Action, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]

    def actions(self, spec: EnvSpec) -> tuple[ale_py.Action, ...]:
        """The action set a specification asks for."""
        return self.all_actions if spec.full_action_space else self.minimal_actions

    def fires_on_reset(self, spec: EnvSpec) -> bool:
        """Whether an episode begins with FIRE."""
        return spec.fire_on_reset and ale_py.Action.FIRE in self.actions(spec)

    def check_options(self, spec: EnvSpec) -> None:
        """`UsageError` when the game has no such mode or difficulty."""
        for name, known in (("mode", self.modes), ("difficulty", self.difficulties)):
            value = spec.options.get(name)
            if value is not None and value not in known:
                raise UsageError(f"{spec.id} has no {name} {value!r}; it has {', '.join(map(str, known))}")


@cache
def rom_of(env_id: str) -> str:
    """The ROM's name: 'up_n_down' for 'ALE/UpNDown-v5'."""
    return {rom_id_to_name(rom): rom for rom in roms.get_all_rom_ids()}[game_of(env_id)]


@cache
def cartridge(env_id: str) -> Cartridge:
    """The game behind an id. Loading it takes a tenth of a second, once."""
    path = roms.get_rom_path(rom_of(env_id))
    assert path is not None, f"ale-py ships no ROM for {env_id}"
    ale = ALEInterface()
    ale.loadROM(path)
    height, width = ale.getScreenDims()
    return Cartridge(
        path=path,
        screen=(height, width),
        minimal_actions=tuple(ale.getMinimalActionSet()),
        all_actions=tuple(ale.getLegalActionSet()),
        modes=tuple(ale.getAvailableModes()),
        difficulties=tuple(ale.getAvailableDifficulties()),
    )


def emulator_seed(seed: int, draw: int = 0) -> int:
    """The emulator's own seed, in [0, 2**31), for an episode's seed; further `draw`s are independent ones."""
    return int(np.random.SeedSequence((seed, draw)).generate_state(1)[0] >> 1)
