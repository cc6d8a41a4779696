"""What is trained when: components, their steps in each epoch, and what happens between epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from wm_core.errors import UsageError

Metrics = Mapping[str, Tensor | float]
"""Scalars by name; tensors are read later, several at a time, so that a step need not wait for the device."""


@dataclass(frozen=True)
class Phase:
    """`steps` in every epoch after `start_after`, up to and including `stop_after`. Epochs count from 1.

    IRIS (appendix A): the tokenizer is `Phase(200, start_after=5)`, so its first epoch is the 6th;
    collection is `Phase(200, stop_after=500)`.
    """

    steps: int
    start_after: int = 0
    stop_after: int | None = None

    def __call__(self, epoch: int) -> int:
        """Steps in that epoch."""
        over = self.stop_after is not None and epoch > self.stop_after
        return 0 if epoch <= self.start_after or over else self.steps


@dataclass(frozen=True)
class Component:
    """A part of the agent that takes steps: the collector, a network and its optimizer."""

    name: str
    step: Callable[[], Metrics]
    """One step: an update, or an environment step. What it draws from torch's global random state comes
    from a stream of the component's own."""
    steps: Callable[[int], int]
    """Steps in an epoch, a `Phase` or any other function of the epoch."""
    env_steps: int = 0
    """Environment steps that one step takes: 1, or the number of lanes, for a collector."""
    cost: float = 1.0
    """Duration of a step relative to other components', a guess for the time left until it is measured."""


@dataclass(frozen=True)
class Periodic:
    """What is done after every `every`-th epoch and after the last: evaluation, images, health checks.

    It must leave the training's state alone: own environments and generators. Its draws from torch's global
    random state come from a stream of its own.
    """

    name: str
    every: int
    call: Callable[[int], Metrics]
    """From the epoch just ended to metrics."""
    cost: float = 10.0
    """As for a component."""

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether it follows that epoch."""
        return epoch % self.every == 0 or epoch == epochs


class Schedule:
    """The whole training: in each of `epochs` epochs every component in order, then what is periodic."""

    def __init__(self, epochs: int, components: Sequence[Component], periodic: Sequence[Periodic] = ()) -> None:
        if epochs < 1:
            raise UsageError(f"{epochs} epochs; expected at least 1")
        if any(each.every < 1 for each in periodic):
            raise UsageError("something periodic happens every 0 epochs; expected at least 1")
        self.epochs = epochs
        self.components = tuple(components)
        self.periodic = tuple(periodic)
        self._parts: list[Component | Periodic] = [*self.components, *self.periodic]
        names = [each.name for each in self._parts]
        if len(set(names)) < len(names):
            raise UsageError(f"two parts of the schedule have one name: {', '.join(names)}")
        if not self.components:
            raise UsageError("a schedule without components trains nothing")

    def totals(self) -> dict[str, int]:
        """Steps of each component, and calls of each periodic part, over all epochs."""
        epochs = range(1, self.epochs + 1)
        steps = {each.name: sum(each.steps(epoch) for epoch in epochs) for each in self.components}
        calls = {each.name: sum(each.due(epoch, self.epochs) for epoch in epochs) for each in self.periodic}
        return steps | calls

    def costs(self) -> dict[str, float]:
        """Guessed cost of a step of each part."""
        return {each.name: each.cost for each in self._parts}
