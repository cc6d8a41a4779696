"""The conformance kit passes sound backends, and names the fault of each faulty one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wm_core import registry
from wm_core.envs.catch import CATCH
from wm_core.errors import UsageError, WMBenchError
from wm_core.specs import EnvManifest
from wm_core.testing import ConformanceError, EnvConformance, check_env
from wm_core.testing.env_checks import OF_EVERY_ENVIRONMENT, env_checks_that_apply
from wm_core.testing.environments import EnvUnderTest

ENVS = Path(__file__).parent / "faulty_envs.py"


def manifest(cls: str, **fields: Any) -> EnvManifest:
    """A sound manifest, but for `fields`."""
    sound = {"name": "sound", "summary": "a test's games", "patterns": ("sound/*",), "backend": f"{ENVS}:{cls}"}
    return EnvManifest(**{**sound, **fields})


def each_fault(env: EnvManifest, *, seeds_matter: bool = True) -> Iterator[tuple[str, str]]:
    """Check and message, in order. The import of the manifest alone has tests of its own."""
    subject = EnvUnderTest(env, seeds_matter=seeds_matter)
    for check in env_checks_that_apply(subject):
        if check.__name__ != "check_manifest_is_light":
            try:
                check(subject)
            except (ConformanceError, WMBenchError) as error:
                yield check.__name__, str(error)


def faults(env: EnvManifest, *, seeds_matter: bool = True) -> dict[str, str]:
    return dict(each_fault(env, seeds_matter=seeds_matter))


@pytest.mark.parametrize("backend", ["Sound", "RefusesWhatItCannot"])
def test_a_sound_backend_has_no_faults(backend: str) -> None:
    assert faults(manifest(backend)) == {}


def test_a_game_without_chance_is_sound_where_it_is_said() -> None:
    assert faults(manifest("WithoutChance"), seeds_matter=False) == {}


@pytest.mark.parametrize(
    ("name", "game"), [("catch", None), ("gymnasium", "CartPole-v1"), ("gymnasium", "Blackjack-v1")]
)
def test_the_built_in_backends_conform(name: str, game: str | None) -> None:
    assert check_env(name, game) is None


FAULTS = [
    ("ResolvesAnything", "check_unknown_game_is_refused", "resolve('sound/Walk-v0-no-such-game') returned"),
    ("RaisesKeyError", "check_unknown_game_is_refused", "raised KeyError"),
    ("CallsItselfOtherwise", "check_ids_resolve", "return EnvSpec(requested=game, id=..., backend='sound'"),
    ("UnknownProtocolField", "check_protocols_set_fields", "protocol 'mine'"),
    ("Unseeded", "check_same_seed_same_start", "draw every random number from self.np_random"),
    ("SeededOnce", "check_same_seed_same_start", "and again, it differed at step"),
    ("WithoutChance", "check_seeds_differ", "check with seeds_matter=False"),
    ("SharesItsState", "check_lanes_play_the_same_episode", "as the second of three lanes, it differed at step 1"),
    ("ReusesItsBoard", "check_observations_do_not_change_later", "return a copy, or a new array each time"),
    ("ShowsFloats", "check_observations_lie_in_the_space", "float64 of shape (8, 8, 3)"),
    ("RewardsNaN", "check_rewards_are_finite_numbers", "step() returned nan"),
    ("RewardsNothing", "check_rewards_are_finite_numbers", "step() returned None"),
    ("EndsInNumbers", "check_ends_are_booleans", "it returned 0 and False"),
    ("IgnoresImageSize", "check_image_size_is_honoured", "with (40, 56) it showed uint8 of shape (8, 8, 3)"),
    ("IgnoresFrameStack", "check_frame_stack_is_honoured", "wm_core.envs.stack.FrameStack"),
    ("IgnoresTimeLimit", "check_time_limit_is_honoured", "had not ended after two steps"),
    ("IgnoresOptions", "check_unknown_option_is_refused", "was accepted"),
    ("OptionsRaiseTypeError", "check_unknown_option_is_refused", "raised TypeError"),
    ("ClosesOnce", "check_close", "a second close() raised RuntimeError: closed already"),
]


@pytest.mark.parametrize(("backend", "check", "message"), FAULTS)
def test_a_faulty_backend_is_told_its_fault(backend: str, check: str, message: str) -> None:
    assert message in faults(manifest(backend)).get(check, "")


WIDER = {"Unseeded", "CallsItselfOtherwise", "ShowsFloats", "RewardsNothing", "RewardsNaN", "EndsInNumbers"}
"""Faults that the core's own lanes meet too."""
ALONE = sorted({backend for backend, _, _ in FAULTS} - WIDER)


@pytest.mark.parametrize("backend", ALONE)
def test_one_fault_fails_one_check(backend: str) -> None:
    assert len(faults(manifest(backend))) == 1


@pytest.mark.parametrize(
    ("backend", "fields", "message"),
    [
        ("Sound", {"name": "Sound"}, "named 'Sound'"),
        ("Sound", {"api_version": 0}, "api_version=0"),
        ("Sound", {"summary": " "}, "say in one line what it is"),
        ("Sound", {"patterns": ("walk/*",)}, "'sound/Walk-v0' matches none of"),
        ("NotThere", {}, "the backend can be imported"),
        ("LacksProtocols", {}, "LacksProtocols lacks one of them"),
        ("HasNoSpaces", {}, "observation_space is 'pictures'"),
    ],
)
def test_the_first_fault_is_the_one_to_mend(backend: str, fields: dict[str, Any], message: str) -> None:
    _, first = next(each_fault(manifest(backend, **fields)))
    assert message in first


def test_an_unknown_game_is_not_taken_for_another() -> None:
    with pytest.raises(UsageError, match="nothing-v0"):
        check_env("catch", "wm/nothing-v0")


def test_the_registry_forgets_what_was_only_checked() -> None:
    assert faults(manifest("Sound")) == {}
    assert "sound" not in registry.names("envs")


class TestCatch(EnvConformance):
    manifest = CATCH


def test_the_base_class_has_a_test_for_each_check() -> None:
    names = {check.__name__.replace("check_", "test_", 1) for check in OF_EVERY_ENVIRONMENT} | {"test_seeds_differ"}
    assert {name for name in vars(TestCatch) if name.startswith("test_")} == names
