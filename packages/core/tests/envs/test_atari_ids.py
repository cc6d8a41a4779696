"""What each Atari id means."""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
import pytest

from wm_core.envs.atari import AtariBackend
from wm_core.envs.atari_cartridge import rom_of
from wm_core.envs.atari_ids import atari_ids, game_of, resolve_atari
from wm_core.envs.games import ATARI_100K
from wm_core.envs.unknown import UnknownGame
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

gymnasium.register_envs(ale_py)


@pytest.mark.parametrize(
    ("game", "resolved", "skip", "sticky"),
    [
        ("ALE/Breakout-v5", "ALE/Breakout-v5", 4, 0.25),
        ("Breakout-v5", "ALE/Breakout-v5", 4, 0.25),
        ("Breakout-v0", "Breakout-v0", (2, 5), 0.25),
        ("Breakout-v4", "Breakout-v4", (2, 5), 0.0),
        ("BreakoutNoFrameskip-v0", "BreakoutNoFrameskip-v0", 1, 0.25),
        ("BreakoutNoFrameskip-v4", "BreakoutNoFrameskip-v4", 1, 0.0),
    ],
)
def test_an_id_keeps_its_own_meaning(game: str, resolved: str, skip: Any, sticky: float) -> None:
    spec = resolve_atari(game)
    assert (spec.requested, spec.id, spec.frame_skip, spec.sticky_actions) == (game, resolved, skip, sticky)


def test_every_id_means_what_ale_py_registers() -> None:
    for game in atari_ids():
        registered, spec = gymnasium.registry[game].kwargs, resolve_atari(game)
        assert spec.frame_skip == registered["frameskip"]
        assert spec.sticky_actions == registered["repeat_action_probability"]
        assert spec.max_frames == registered["max_num_frames_per_episode"]
        assert spec.full_action_space == registered["full_action_space"]


def test_all_ids_are_listed_once() -> None:
    assert len(atari_ids()) == len(set(atari_ids())) == 104 + 4 * 62


def test_every_field_is_spelled_out() -> None:
    for game in ("ALE/Pong-v5", "Pong-v4"):
        untold = set(EnvSpec.model_fields) - resolve_atari(game).model_fields_set
        assert untold == {"protocol", "modified", "vectorization"}


@pytest.mark.parametrize(
    ("game", "near"),
    [
        ("ALE/pong-v5", "ALE/Pong-v5"),
        ("ALE/Brekout-v5", "ALE/Breakout-v5"),
        ("ALE/Pong", "ALE/Pong-v5"),
        ("ALE/Pong-v4", "Pong-v4"),
        ("Pong-v3", "ALE/Pong-v5"),
        ("PongNoFrameskip-v5", "PongNoFrameskip-v4"),
        ("Tetris-v4", "ALE/Tetris-v5"),
        ("ALE/MsPacMan-v5", "ALE/MsPacman-v5"),
    ],
)
def test_an_unknown_id_names_the_nearest(game: str, near: str) -> None:
    with pytest.raises(UnknownGame, match=near):
        AtariBackend().resolve(game)


def test_an_id_that_resembles_nothing_says_where_to_look() -> None:
    with pytest.raises(UnknownGame, match="wmbench envs --ids"):
        AtariBackend().resolve("ALE/Zzzzzz-v5")


def test_the_game_is_read_from_any_id() -> None:
    assert {game_of(f"{id_}") for id_ in ("ALE/UpNDown-v5", "UpNDown-v0", "UpNDownNoFrameskip-v4")} == {"UpNDown"}
    assert rom_of("UpNDown-v0") == "up_n_down"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "hard"}, "options.mode='hard'"),
        ({"obs_type": "ram"}, "options.obs_type='ram'.*mode and difficulty"),
        ({"mode": True}, "options.mode=True"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    spec = resolve_atari("ALE/Pong-v5").model_copy(update={"options": options})
    with pytest.raises(UsageError, match=message):
        AtariBackend().check(spec)


def test_a_mode_the_game_lacks_is_refused_with_those_it_has() -> None:
    spec = resolve_atari("ALE/Pong-v5").model_copy(update={"options": {"mode": 77}})
    with pytest.raises(UsageError, match="no mode 77; it has 0, 1"):
        AtariBackend().make(spec)


def test_every_protocol_sets_real_fields_and_resolves_for_every_game_of_atari_100k() -> None:
    backend = AtariBackend()
    for fields in backend.protocols().values():
        for game in ATARI_100K:
            backend.check(EnvSpec.model_validate({**dict(backend.resolve(f"ALE/{game}-v5")), **fields}))


def test_protocols_are_the_published_ones() -> None:
    protocols = AtariBackend().protocols()
    assert set(protocols) == {
        "atari100k",
        "atari-sticky",
        "iris",
        "iris-train",
        "diamond",
        "diamond-train",
        "dreamerv1",
        "dreamerv1-train",
        "dreamerv2",
        "dreamerv3-atari100k",
    }
    for fields in protocols.values():
        assert (fields["frame_skip"], fields["clip_rewards"], fields["full_action_space"]) == (4, False, False)
    assert {name: (p["sticky_actions"], p["noop_max"], p["max_frames"]) for name, p in protocols.items()} == {
        "atari100k": (0.0, 30, 108_000),
        "atari-sticky": (0.25, 0, 108_000),
        "iris": (0.0, 1, 108_000),
        "iris-train": (0.0, 30, 20_000),
        "diamond": (0.0, 30, 108_000),
        "diamond-train": (0.0, 30, 108_000),
        "dreamerv1": (0.25, 30, 108_000),
        "dreamerv1-train": (0.25, 30, 108_000),
        "dreamerv2": (0.25, 30, 108_000),
        "dreamerv3-atari100k": (0.0, 30, 108_000),
    }
    assert {name for name, fields in protocols.items() if fields["life_loss_ends_episode"]} == {
        "iris-train",
        "diamond-train",
        "dreamerv1-train",
    }
    pictures = {name: (p["observation"], p["resize"], p["max_pool"]) for name, p in protocols.items() if "resize" in p}
    assert pictures["iris"] == ("rgb", "pil-bilinear", "after_resize")
    assert pictures["diamond"] == ("rgb", "cv2-area", "before_resize")
    assert pictures["dreamerv1"] == ("rgb", "pil-bilinear", "before_resize")
    assert pictures["dreamerv2"] == ("gray", "cv2-area", "before_resize")
    assert pictures["dreamerv3-atari100k"] == ("rgb", "pil-bilinear", "before_resize")


def test_neutral_protocols_leave_the_picture_to_the_agent() -> None:
    for name in ("atari100k", "atari-sticky"):
        fields = AtariBackend().protocols()[name]
        assert not {"observation", "image_size", "resize", "max_pool", "frame_stack"} & set(fields)
