"""Is this data fit to learn from? Every fault is named, and what will be hard to learn is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wm_agent_diamond.data.episode import Episode
from wm_agent_diamond.data.readers import READERS, episode_files
from wm_core.errors import UsageError

_MANY_STILL = 0.5
_RARE_ACTION = 0.01
_FEW_STEPS = 1_000
_MANY_NAMES = 20


@dataclass
class Findings:
    """What there is, what is wrong with it, and what deserves a look."""

    episodes: int = 0
    steps: int = 0
    terminated: int = 0
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Frames' (height, width), by episodes."""
    actions: Counter[int] = field(default_factory=Counter)
    rewards: Counter[int] = field(default_factory=Counter)
    """Steps by their reward's sign."""
    still: int = 0
    """Steps that changed no pixel."""
    faults: list[str] = field(default_factory=list)
    """Files that cannot be used, and why."""

    @property
    def action_size(self) -> int:
        """One more than the largest action."""
        return max(self.actions, default=-1) + 1

    def warnings(self) -> list[str]:
        """What can be read, but will be hard to learn from."""
        found = []
        never = [str(action) for action in range(self.action_size) if not self.actions[action]]
        rare = [str(action) for action, count in sorted(self.actions.items()) if count < _RARE_ACTION * self.steps]
        if never:
            found.append(f"actions {_some(never)} are never taken: what they do cannot be learned")
        if rare:
            found.append(f"actions {_some(rare)} are taken in less than 1% of the steps")
        if self.steps and len(self.actions) == 1:
            found.append("only one action is ever taken: the model cannot learn what actions do")
        if self.still > _MANY_STILL * self.steps:
            found.append(f"{self.still} of {self.steps} steps change no pixel: are frames repeated, or misaligned?")
        if self.steps and not self.rewards[1] and not self.rewards[-1]:
            found.append("no reward anywhere: dreams will bring none either, so no policy can be learned")
        if self.steps and not self.terminated:
            found.append("no episode is terminated: dreams will never end")
        if len(self.sizes) > 1:
            sizes = ", ".join(f"{h}x{w}" for h, w in self.sizes)
            found.append(f"frames of several sizes ({sizes}): all are resized to the model's")
        if 0 < self.steps < _FEW_STEPS:
            found.append(f"{self.steps} steps are few; a small model of a simple game took {_FEW_STEPS} and more")
        return found

    def look(self, episode: Episode) -> None:
        """Count an episode."""
        self.episodes += 1
        self.steps += episode.steps
        self.terminated += episode.terminated
        self.sizes[episode.frames.shape[1:3]] += 1
        self.actions.update(episode.actions.tolist())
        self.rewards.update(np.sign(episode.rewards).astype(int).tolist())
        changed = (episode.frames[1:] != episode.frames[:-1]).any(axis=(1, 2, 3))
        self.still += int((~changed).sum())


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _MANY_NAMES
    return ", ".join(names[:_MANY_NAMES]) + (f" and {more} more" if more > 0 else "")


def validate(path: Path) -> Findings:
    """Read everything under `path`; faults are collected, so that one run names them all."""
    findings = Findings()
    for file in episode_files(path):
        try:
            for episode in READERS[file.suffix.lower()](file):
                findings.look(episode)
        except UsageError as error:
            findings.faults.append(str(error))
    return findings
