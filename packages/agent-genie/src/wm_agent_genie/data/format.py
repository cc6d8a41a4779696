"""The shard format of video: what a dataset's directory holds.

```
dataset.json            the manifest: `Manifest`
episodes.npy            int64 (E+1,): episode e is frames offsets[e] .. offsets[e+1]-1, at least two
frames-00000.npy, ...   uint8 (F_s, H, W, C), episode after episode; none lies in two shards
actions.npy             int64 (F,), optional: the action after each frame, -1 after an episode's last
rewards.npy             float32 (F,), optional: the reward of that action, 0 after an episode's last
levels.npy              int64 (E,), optional: the level each episode was played in
```

Frames lie flat, each stored once: a clip is a slice. All files are plain `.npy`, so anything reads them, without
executing anything (`allow_pickle=False`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from wm_core.errors import UsageError
from wm_core.specs import Spec

FORMAT = "wmbench.video/1"
MANIFEST = "dataset.json"
EPISODES, ACTIONS, REWARDS, LEVELS = "episodes.npy", "actions.npy", "rewards.npy", "levels.npy"
NO_ACTION = -1


class Manifest(Spec):
    """What a dataset says of itself."""

    format: Literal["wmbench.video/1"] = "wmbench.video/1"
    game: str = Field("", description="Where the video is from, e.g. an environment's id")
    source: str = Field(description="Who played, or which files were imported")
    height: PositiveInt
    width: PositiveInt
    channels: Literal[1, 3]
    frames: PositiveInt
    episodes: PositiveInt
    shards: tuple[PositiveInt, ...] = Field(description="Frames in each shard")
    actions: PositiveInt | None = Field(None, description="Number of actions, 0 .. this - 1; None: not recorded")
    rewards: bool = False
    levels: bool = False
    seed: NonNegativeInt | None = None
    mean_return: float | None = Field(None, description="Of the episodes that ended; None: not known")
    env: dict[str, Any] = Field(default_factory=dict, description="Fields of the EnvSpec it was collected in")


def shard_name(index: int) -> str:
    """File of a shard."""
    return f"frames-{index:05d}.npy"


def read_manifest(directory: Path) -> Manifest:
    """The manifest; `UsageError` when there is none, or none that can be read."""
    path = directory / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text; expected a manifest of format {FORMAT}") from error
    except OSError as error:
        raise UsageError(
            f"{directory} is no video dataset: {MANIFEST} cannot be read ({error.strerror}); make one with "
            "`wmbench dataset collect` or `wmbench dataset import`"
        ) from error
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "its JSON"
        raise UsageError(f"{path}: {name}: {first['msg']}; expected a manifest of format {FORMAT}") from error
