"""Random numbers from one seed: a named stream for each use, the global state left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wm_core.errors import CheckpointError, UsageError

MAX_SEED = 2**31 - 1
"""Seeds of environments stay below it, as the Arcade Learning Environment takes signed 32-bit ones."""


class RandomStreams:
    """Generators derived from `seed` by name (`numpy.random.SeedSequence`), so that no use disturbs another.

    The same name gives the same generator object; its state is saved and restored with all others.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise UsageError(f"the seed is {seed}; expected 0 or more")
        self._seed = seed
        self._numpy: dict[str, np.random.Generator] = {}
        self._torch: dict[str, torch.Generator] = {}

    def seed(self, name: str, index: int = 0) -> int:
        """The `index`-th seed of that name, in `[0, 2**31 - 1)`."""
        return int(self._sequence(name, index).generate_state(1, np.uint64)[0] % MAX_SEED)

    def numpy_generator(self, name: str) -> np.random.Generator:
        """The numpy generator of that name."""
        if name not in self._numpy:
            self._numpy[name] = np.random.default_rng(self._sequence(name))
        return self._numpy[name]

    def torch_generator(self, name: str, device: torch.device | str = "cpu") -> torch.Generator:
        """The torch generator of that name, on one device."""
        device = torch.device(device)
        if name not in self._torch:
            words = self._sequence(name).generate_state(1, np.uint64)
            self._torch[name] = torch.Generator(device).manual_seed(int(words[0] >> np.uint64(1)))
        if self._torch[name].device != torch.Generator(device).device:
            raise UsageError(f"the stream '{name}' is on {self._torch[name].device}, not {device}; use another name")
        return self._torch[name]

    @contextmanager
    def as_global(self, name: str, device: torch.device | str = "cpu") -> Iterator[None]:
        """Let what draws from torch's global state, such as dropout, draw from a stream of this name.

        The global state is afterwards what it was before.
        """
        kinds = {torch.device("cpu"), torch.device(device)}
        streams = {kind: self.torch_generator(f"{name} on {kind.type}", kind) for kind in kinds}
        outside = {kind: _global_state(kind) for kind in kinds}
        for kind, stream in streams.items():
            _set_global_state(kind, stream.get_state())
        try:
            yield
        finally:
            for kind, stream in streams.items():
                stream.set_state(_global_state(kind))
                _set_global_state(kind, outside[kind])

    def state_dict(self) -> dict[str, Any]:
        """States of all streams in use."""
        return {
            "seed": self._seed,
            "numpy": {name: generator.bit_generator.state for name, generator in self._numpy.items()},
            "torch": {
                name: {"device": generator.device.type, "state": generator.get_state()}
                for name, generator in self._torch.items()
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put all streams back; generators handed out before are changed in place."""
        if state["seed"] != self._seed:
            raise CheckpointError(f"the checkpoint was trained with seed {state['seed']}, not {self._seed}")
        for name, saved in state["numpy"].items():
            self.numpy_generator(name).bit_generator.state = saved
        for name, saved in state["torch"].items():
            device = self._torch[name].device.type if name in self._torch else saved["device"]
            if device != saved["device"]:
                raise CheckpointError(
                    f"the checkpoint was trained on {saved['device']} and cannot go on exactly on {device}; "
                    f"resume with --device {saved['device']}"
                )
            self.torch_generator(name, device).set_state(saved["state"])

    def _sequence(self, name: str, index: int = 0) -> np.random.SeedSequence:
        digest = hashlib.sha256(name.encode()).digest()
        words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        return np.random.SeedSequence(self._seed, spawn_key=(*words, index))


def _global_state(device: torch.device) -> Tensor:
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    if device.type == "mps":
        return torch.mps.get_rng_state()
    return torch.get_rng_state()


def _set_global_state(device: torch.device, state: Tensor) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif device.type == "mps":
        torch.mps.set_rng_state(state)
    else:
        torch.set_rng_state(state)
