"""Named protocols for Atari games.

Two are neutral: they set the rules of the game and leave the picture to the agent. The others are one agent's
published setting, picture included; the `-train` variants are what the same paper trains with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WHOLE_GAMES: dict[str, Any] = {
    "fire_on_reset": False,
    "life_loss_ends_episode": False,
    "max_frames": 108_000,
    "clip_rewards": False,
    "full_action_space": False,
}

_RGB_64: dict[str, Any] = {"observation": "rgb", "image_size": (64, 64), "frame_stack": 1}

# Evaluation of data-efficient Rainbow (van Hasselt et al. 2019, arXiv:1906.05243, hyper-parameter table): four
# frames an action, no-op starts, 108,000 frames, no sticky actions; scores are of whole games in raw points.
_ATARI_100K = {**_WHOLE_GAMES, "frame_skip": 4, "sticky_actions": 0.0, "noop_max": 30}

# Machado et al. 2018, arXiv:1709.06009, section 5; what `ALE/X-v5` means. The paper also recommends all 18 actions,
# which v5 ids do not use unless told to.
_STICKY = {**_WHOLE_GAMES, "frame_skip": 4, "sticky_actions": 0.25, "noop_max": 0}

# Micheli et al. 2023, arXiv:2209.00588, and its published configuration: frames are resized before their maximum.
_IRIS = {
    **_WHOLE_GAMES,
    **_RGB_64,
    "resize": "pil-bilinear",
    "max_pool": "after_resize",
    "frame_skip": 4,
    "sticky_actions": 0.0,
    "noop_max": 1,
}

# Alonso et al. 2024, arXiv:2405.12399, and its published configuration, which sets no time limit of its own: the
# 108,000 frames are those of the `NoFrameskip-v4` ids.
_DIAMOND = {
    **_WHOLE_GAMES,
    **_RGB_64,
    "resize": "cv2-area",
    "max_pool": "before_resize",
    "frame_skip": 4,
    "sticky_actions": 0.0,
    "noop_max": 30,
}

# Hafner et al. 2020, arXiv:1912.01603, appendix, and its published code; in training, a lost life ends an episode.
_DREAMER_V1 = {
    **_WHOLE_GAMES,
    **_RGB_64,
    "resize": "pil-bilinear",
    "max_pool": "before_resize",
    "frame_skip": 4,
    "sticky_actions": 0.25,
    "noop_max": 30,
}

# Hafner et al. 2021, arXiv:2010.02193, and its published code, whose action set is the minimal one (the paper: 18).
_DREAMER_V2 = {
    **_WHOLE_GAMES,
    "observation": "gray",
    "image_size": (64, 64),
    "resize": "cv2-area",
    "max_pool": "before_resize",
    "frame_skip": 4,
    "sticky_actions": 0.25,
    "noop_max": 30,
    "frame_stack": 1,
}

# Hafner et al. 2023, arXiv:2301.04104, and `atari100k` of its published configuration.
_DREAMER_V3 = {
    **_WHOLE_GAMES,
    **_RGB_64,
    "resize": "pil-bilinear",
    "max_pool": "before_resize",
    "frame_skip": 4,
    "sticky_actions": 0.0,
    "noop_max": 30,
}

ATARI_PROTOCOLS: Mapping[str, Mapping[str, Any]] = {
    "atari100k": _ATARI_100K,
    "atari-sticky": _STICKY,
    "iris": _IRIS,
    "iris-train": {**_IRIS, "noop_max": 30, "life_loss_ends_episode": True, "max_frames": 20_000},
    "diamond": _DIAMOND,
    "diamond-train": {**_DIAMOND, "life_loss_ends_episode": True},
    "dreamerv1": _DREAMER_V1,
    "dreamerv1-train": {**_DREAMER_V1, "life_loss_ends_episode": True},
    "dreamerv2": _DREAMER_V2,
    "dreamerv3-atari100k": _DREAMER_V3,
}
