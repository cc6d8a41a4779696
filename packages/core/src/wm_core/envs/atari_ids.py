"""The ids of Atari games, and what each of them means.

The older ids differ from `ALE/X-v5` in two ways only (ale_py's registration): `v0` and `v5` repeat the last action
with probability 0.25 and `v4` never does; ids without a suffix hold an action for two, three or four frames at
random, `NoFrameskip` ids for one, `v5` ids for four.
"""

from __future__ import annotations

import re
from typing import Any

from wm_core.envs.games import ATARI_GAMES, CLASSIC_GAMES
from wm_core.envs.unknown import UnknownGame, nearest
from wm_core.specs import EnvSpec

_ID = re.compile(r"(?P<namespace>ALE/)?(?P<game>\w+?)(?P<single>NoFrameskip)?-v(?P<version>[045])")


def atari_ids() -> list[str]:
    """All ids, `ALE/X-v5` first. Bare `X-v5` is accepted as well and not listed."""
    older = (f"{game}{infix}-{v}" for game in CLASSIC_GAMES for infix in ("", "NoFrameskip") for v in ("v0", "v4"))
    return [*(f"ALE/{game}-v5" for game in ATARI_GAMES), *older]


def resolve_atari(requested: str) -> EnvSpec:
    """The id's own meaning, every field spelled out; `UnknownGame` when there is no such id."""
    match = _ID.fullmatch(requested)
    game, version = (match["game"], match["version"]) if match else ("", "")
    older = match is not None and version in "04" and not match["namespace"] and game in CLASSIC_GAMES
    newer = match is not None and version == "5" and not match["single"] and game in ATARI_GAMES
    if match is None or not (older or newer):
        near = nearest(requested, atari_ids())
        hint = f"did you mean {', '.join(near)}?" if near else "`wmbench envs --ids` lists all"
        raise UnknownGame(f"no Atari game has the id '{requested}'; {hint}")
    skip: int | tuple[int, int] = 4 if newer else 1 if match["single"] else (2, 5)
    fields: dict[str, Any] = {
        "id": f"ALE/{game}-v5" if newer else requested,
        "frame_skip": skip,
        "sticky_actions": 0.0 if version == "4" else 0.25,
    }
    return EnvSpec(
        requested=requested,
        backend="atari",
        observation="rgb",
        image_size=None,
        resize="cv2-area",
        max_pool="none",
        noop_max=0,
        fire_on_reset=False,
        life_loss_ends_episode=False,
        max_frames=108_000,
        clip_rewards=False,
        full_action_space=False,
        frame_stack=1,
        options={},
        **fields,
    )


def game_of(env_id: str) -> str:
    """The game's name in an id: 'Pong' in 'ALE/Pong-v5' and in 'PongNoFrameskip-v4'."""
    match = _ID.fullmatch(env_id)
    if match is None:
        raise UnknownGame(f"'{env_id}' is not the id of an Atari game")
    return match["game"]
