"""Own episodes into a replay."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np

from wm_agent_diamond.data.episode import Episode
from wm_agent_diamond.data.readers import read_episodes
from wm_agent_diamond.observations import ObservationFrames
from wm_agent_diamond.replay import DiamondReplayBuffer
from wm_core.errors import UsageError


class Loaded(NamedTuple):
    """What went into a replay."""

    episodes: int
    steps: int
    sha256: str
    """Of frames, actions, rewards and ends, in order."""


def load_episodes(path: Path, replay: DiamondReplayBuffer, image_size: int, action_size: int) -> Loaded:
    """Put all episodes under `path` into `replay`, their frames resized by area to `image_size`.

    Raises `UsageError` for data that is not as the schema wants it, an action beyond `action_size`, or more than the
    replay holds.
    """
    digest = hashlib.sha256()
    episodes = steps = places = 0
    for episode in read_episodes(path):
        if episode.actions.max() >= action_size:
            raise UsageError(
                f"{episode.source}: the action {episode.actions.max()}, and there are {action_size}: 0 to "
                f"{action_size - 1}; set action_size to what the game has"
            )
        episodes, steps, places = episodes + 1, steps + episode.steps, places + episode.steps + 1
        if places > replay.episodes.capacity:
            raise UsageError(
                f"{path} holds more than the replay's {replay.episodes.capacity} observations; raise "
                "training.collection.replay_capacity"
            )
        _add(episode, replay, image_size)
        for part in (episode.frames, episode.actions, episode.rewards):
            digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(bytes([episode.terminated]))
    return Loaded(episodes, steps, digest.hexdigest())


def _add(episode: Episode, replay: DiamondReplayBuffer, image_size: int) -> None:
    space = gymnasium.spaces.Box(0, 255, episode.frames.shape[1:], np.uint8)
    to_frame = ObservationFrames(space, image_size)
    replay.begin_episode(to_frame(episode.frames[0]))
    for t in range(episode.steps):
        last = t == episode.steps - 1
        ends, cut = last and episode.terminated, last and not episode.terminated
        replay.add_step(int(episode.actions[t]), float(episode.rewards[t]), ends, cut, to_frame(episode.frames[t + 1]))
