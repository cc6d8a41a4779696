"""From a game id and wishes to an `EnvSpec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core import registry
from wm_core.envs.resolve import SETTABLE, resolve_env
from wm_core.envs.unknown import KNOWN_ELSEWHERE, distribution_of, nearest
from wm_core.errors import PluginError, UsageError
from wm_core.specs import EnvManifest, EnvSpec


class OtherBackend:
    def ids(self) -> Sequence[str]:
        return ["other/Game-v0"]

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def resolve(self, game: str) -> EnvSpec:
        if game not in ("other/Game-v0", "ALE/Pong-v5"):
            raise UsageError(f"other serves no {game}")
        return EnvSpec(requested=game, id=game, backend="other")

    def make(self, spec: EnvSpec) -> Any:
        raise NotImplementedError


def claim(name: str, *patterns: str, backend: str = f"{__file__}:OtherBackend") -> None:
    registry.register(EnvManifest(name=name, backend=backend, patterns=patterns), "envs")


@pytest.mark.parametrize(
    ("game", "id_", "backend"),
    [
        ("ALE/Pong-v5", "ALE/Pong-v5", "atari"),
        ("Breakout-v5", "ALE/Breakout-v5", "atari"),
        ("Breakout-v0", "Breakout-v0", "atari"),
        ("BreakoutNoFrameskip-v4", "BreakoutNoFrameskip-v4", "atari"),
        ("wm/Catch-v0", "wm/Catch-v0", "catch"),
        ("CartPole-v1", "CartPole-v1", "gymnasium"),
    ],
)
def test_an_id_finds_its_backend(game: str, id_: str, backend: str) -> None:
    spec = resolve_env(game)
    assert (spec.requested, spec.id, spec.backend, spec.protocol) == (game, id_, backend, "default")


def test_a_backend_can_be_named() -> None:
    assert resolve_env("wm_core.envs.catch_env:wm/Catch-v0", backend="gymnasium").backend == "gymnasium"
    with pytest.raises(PluginError, match="nope"):
        resolve_env("wm/Catch-v0", backend="nope")


@pytest.mark.usefixtures("plugins")
def test_a_plugin_s_own_ids_beat_the_fallback() -> None:
    claim("other", "other/*")
    assert resolve_env("other/Game-v0").backend == "other"


@pytest.mark.usefixtures("plugins")
def test_two_plugins_that_claim_an_id_are_both_named() -> None:
    claim("other", "ALE/Pong-v5")
    with pytest.raises(UsageError, match=r"'atari' .* and 'other' .*--env-backend"):
        resolve_env("ALE/Pong-v5")
    assert resolve_env("ALE/Pong-v5", backend="other").backend == "other"
    assert resolve_env("ALE/Breakout-v5").backend == "atari"


@pytest.mark.usefixtures("plugins")
def test_two_fallbacks_are_both_named() -> None:
    claim("other", "*")
    with pytest.raises(UsageError, match=r"'gymnasium' .* and 'other'"):
        resolve_env("CartPole-v1")


@pytest.mark.usefixtures("plugins")
def test_a_broken_plugin_hurts_no_other_game_and_is_named_in_hints() -> None:
    claim("broken", "broken/*", backend="no_such_module:Backend")
    assert resolve_env("wm/Catch-v0").backend == "catch"
    with pytest.raises(UsageError, match=r"could not be asked: broken \(PluginError\)"):
        resolve_env("Nonsense")
    with pytest.raises(PluginError, match="no_such_module"):
        resolve_env("broken/Game-v0")


@pytest.mark.usefixtures("plugins")
def test_a_backend_s_own_words_about_an_id_are_passed_on() -> None:
    claim("other", "other/*")
    with pytest.raises(UsageError, match="other serves no other/Gone-v0"):
        resolve_env("other/Gone-v0")


@pytest.mark.parametrize(
    ("game", "near"),
    [
        ("pong", "ALE/Pong-v5"),
        ("ALE/pong-v5", "ALE/Pong-v5"),
        ("Brekout-v5", "ALE/Breakout-v5"),
        ("PongDeterministic-v4", "Pong-v4"),
        ("ALE/MsPacMan-v5", "ALE/MsPacman-v5"),
        ("cartpole-v1", "CartPole-v1"),
        ("wm/catch-v0", "wm/Catch-v0"),
        ("Catch", "wm/Catch-v0"),
    ],
)
def test_an_unknown_id_names_the_nearest_of_all_backends(game: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"no environment has the id '{game}'; did you mean {near}"):
        resolve_env(game)


def test_an_id_that_resembles_nothing_says_where_to_look() -> None:
    with pytest.raises(UsageError, match="wmbench envs --ids"):
        resolve_env("Qwxyz-v0")


def test_an_id_of_another_backend_is_refused_by_the_named_one() -> None:
    with pytest.raises(UsageError, match="no id of the 'catch' backend; leave out --env-backend"):
        resolve_env("ALE/Pong-v5", backend="catch")


@pytest.mark.parametrize(
    ("game", "distribution"),
    [
        ("catch/0", "wm-env-bsuite"),
        ("deep_sea_stochastic/3", "wm-env-bsuite"),
        ("bsuite/catch/0", "wm-env-bsuite"),
        ("MineRLTreechop-v0", "wm-env-minecraft"),
        ("minedojo/harvest_milk", "wm-env-minecraft"),
        ("crafter/reward", "wm-env-minecraft"),
    ],
)
def test_ids_of_ours_that_are_not_installed_say_what_to_install(
    game: str, distribution: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin = ["atari", "catch", "gymnasium"]
    monkeypatch.setattr(registry, "names", lambda kind: builtin if kind == "envs" else [])
    with pytest.raises(UsageError, match=f"pip install {distribution}"):
        resolve_env(game)
    assert distribution_of(game) == distribution


def test_all_23_experiments_of_bsuite_are_known() -> None:
    assert len(set(KNOWN_ELSEWHERE["wm-env-bsuite"]) - {"bsuite/*"}) == 23


@pytest.mark.parametrize(
    ("game", "near"),
    [
        ("Catch", ["wm/Catch-v0", "catch/19", "catch/18"]),
        ("catch/77", ["catch/19", "wm/Catch-v0", "catch/18"]),
        ("catch/3", ["catch/3", "wm/Catch-v0", "catch/19"]),
    ],
)
def test_the_settings_of_a_game_do_not_crowd_out_the_games_of_others(game: str, near: list[str]) -> None:
    assert nearest(game, ["wm/Catch-v0", *(f"catch/{setting}" for setting in range(20))]) == near


def test_nearest_offers_only_known_ids() -> None:
    ids = [f"ALE/{name}-v5" for name in ("Pong", "Breakout", "Pooyan")]

    @settings(max_examples=100, deadline=None)
    @given(game=st.text(max_size=20))
    def check(game: str) -> None:
        near = nearest(game, ids)
        assert len(near) <= 3
        assert set(near) <= set(ids)

    check()


def test_what_wins_is_override_then_protocol_then_default_then_the_id() -> None:
    defaults = {"*": {"noop_max": 1, "image_size": (10, 10), "frame_stack": 2}, "atari": {"noop_max": 2}}
    spec = resolve_env("ALE/Pong-v5", defaults=defaults)
    assert (spec.noop_max, spec.image_size, spec.frame_stack, spec.sticky_actions) == (2, (10, 10), 2, 0.25)
    spec = resolve_env("ALE/Pong-v5", defaults=defaults, protocol="atari100k")
    assert (spec.noop_max, spec.image_size, spec.sticky_actions, spec.protocol) == (30, (10, 10), 0.0, "atari100k")
    spec = resolve_env("ALE/Pong-v5", defaults=defaults, protocol="atari100k", overrides={"noop_max": 5})
    assert (spec.noop_max, spec.image_size) == (5, (10, 10))


def test_an_agent_may_name_a_protocol_and_differ_from_it() -> None:
    defaults = {"*": {"frame_stack": 3}, "atari": {"protocol": "diamond", "noop_max": 7}}
    spec = resolve_env("ALE/Pong-v5", defaults=defaults)
    assert (spec.protocol, spec.noop_max, spec.image_size, spec.frame_stack) == ("diamond", 7, (64, 64), 3)
    assert spec.protocol_label == "diamond (modified: frame_stack, noop_max)"


def test_a_neutral_protocol_keeps_the_agent_s_picture() -> None:
    spec = resolve_env("ALE/Pong-v5", protocol="atari-sticky", defaults={"atari": {"protocol": "iris"}})
    assert (spec.protocol, spec.sticky_actions, spec.noop_max) == ("atari-sticky", 0.25, 0)
    assert (spec.resize, spec.max_pool) == ("pil-bilinear", "after_resize")


def test_defaults_of_other_backends_are_not_looked_at() -> None:
    assert resolve_env("wm/Catch-v0", defaults={"atari": {"protocol": "iris"}}).image_size == (64, 64)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"imagesize": 3}, "'imagesize'; did you mean image_size"),
        ({"id": "x"}, "'id'.*there are: vectorization, observation"),
        ({"protocol": "iris"}, "--protocol"),
        ({"image_size": "big"}, "image_size='big'.*height, width"),
        ({"image_size": (0, 4)}, "image_size is"),
        ({"sticky_actions": 2}, "sticky_actions=2.*less than or equal to 1"),
        ({"frame_skip": 0}, "frame_skip is 0; expected at least 1"),
        ({"frame_skip": (5, 2)}, r"frame_skip is \(5, 2\); expected \(a, b\)"),
        ({"resize": "lanczos"}, "resize='lanczos'.*'pil-bilinear'"),
        ({"max_frames": 0}, "max_frames=0.*greater than 0"),
        ({"noop_max": -1}, "noop_max=-1"),
        ({"options": {"mode": "hard"}}, "options.mode='hard'"),
    ],
)
def test_a_wrong_field_or_value_is_named_with_what_is_allowed(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_env("ALE/Pong-v5", overrides=fields)


@pytest.mark.usefixtures("plugins")
def test_numbers_are_checked_for_backends_that_check_nothing() -> None:
    claim("other", "other/*")
    with pytest.raises(UsageError, match="frame_skip is 0"):
        resolve_env("other/Game-v0", overrides={"frame_skip": 0})


def test_a_field_that_means_nothing_to_the_backend_is_refused_before_anything_is_made() -> None:
    with pytest.raises(UsageError, match=r"sticky_actions=0\.25 means nothing"):
        resolve_env("CartPole-v1", overrides={"sticky_actions": 0.25})


def test_an_unknown_protocol_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no protocol 'atari100'; did you mean atari100k.*iris"):
        resolve_env("ALE/Pong-v5", protocol="atari100")
    with pytest.raises(UsageError, match="it has: none"):
        resolve_env("wm/Catch-v0", protocol="iris")


def test_lists_become_tuples() -> None:
    assert resolve_env("Pong-v4", overrides={"image_size": [32, 16], "frame_skip": [2, 4]}).frame_skip == (2, 4)


@pytest.mark.parametrize(
    ("overrides", "vectorization"),
    [
        ({}, "native"),
        ({"vectorization": "serial"}, "serial"),
        ({"vectorization": "native"}, "native"),
        ({"life_loss_ends_episode": True}, "serial"),
        ({"image_size": (8, 8), "resize": "nearest"}, "serial"),
    ],
)
def test_the_backend_s_own_vector_environment_is_used_where_it_can_be(
    overrides: dict[str, Any], vectorization: str
) -> None:
    assert resolve_env("ALE/Pong-v5", overrides=overrides).vectorization == vectorization


def test_serial_stepping_asked_for_by_an_agent_is_kept() -> None:
    assert resolve_env("ALE/Pong-v5", defaults={"*": {"vectorization": "serial"}}).vectorization == "serial"


@pytest.mark.parametrize(
    ("game", "overrides"), [("ALE/Pong-v5", {"life_loss_ends_episode": True}), ("CartPole-v1", {})]
)
def test_native_stepping_that_cannot_be_is_refused(game: str, overrides: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="set vectorization=serial"):
        resolve_env(game, overrides={**overrides, "vectorization": "native"})


def test_every_field_but_the_identity_can_be_set() -> None:
    assert set(EnvSpec.model_fields) - set(SETTABLE) == {"requested", "id", "backend", "protocol", "modified"}


def test_a_resolved_specification_survives_json() -> None:
    for game in ("ALE/Pong-v5", "Pong-v4", "wm/Catch-v0", "CartPole-v1"):
        spec = resolve_env(game)
        assert EnvSpec.model_validate_json(spec.model_dump_json()) == spec
