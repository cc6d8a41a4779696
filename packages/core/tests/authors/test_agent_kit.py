"""The conformance kit passes sound agents, and names the fault of each faulty one."""

from __future__ import annotations

import random
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wm_core import registry
from wm_core.errors import AgentFailure
from wm_core.random_agent import RANDOM
from wm_core.specs import AgentManifest, Demo
from wm_core.testing import AgentConformance, AgentUnderTest, ConformanceError, check_agent
from wm_core.testing.agent_checks import (
    OF_AGENTS_THAT_ACT,
    OF_AGENTS_THAT_NEED_WEIGHTS,
    OF_AGENTS_THAT_TRAIN,
    OF_EVALUATE,
    OF_EVERY_AGENT,
    OF_WEIGHTS,
    checks_that_apply,
)

AGENTS = Path(__file__).parent / "faulty_agents.py"


def manifest(cls: str, **fields: Any) -> AgentManifest:
    """A sound manifest of a trainable agent, but for `fields`."""
    sound = {"summary": "a test's agent", "capabilities": ("evaluate", "train"), "name": cls.lower()}
    return AgentManifest(**{**sound, "adapter": f"{AGENTS}:{cls}", **fields})


def evaluator(adapter: str) -> AgentManifest:
    return manifest(adapter, capabilities=("evaluate",), needs_checkpoint=False)


def faults(agent: AgentManifest) -> dict[str, str]:
    """Message by check. The import of the manifest alone has tests of its own."""
    found = {}
    with closing(AgentUnderTest(agent)) as subject:
        for check in checks_that_apply(subject):
            if check.__name__ != "check_manifest_is_light":
                try:
                    check(subject)
                except (ConformanceError, AgentFailure) as error:
                    found[check.__name__] = str(error)
    return found


@pytest.fixture(autouse=True)
def _global_state() -> None:
    """Agents that draw from the global generator draw the same each time."""
    np.random.seed(0)


def test_a_sound_agent_has_no_faults() -> None:
    assert faults(manifest("Sound")) == {}


def test_a_sound_agent_that_only_evaluates_has_no_faults() -> None:
    assert faults(evaluator("Evaluates")) == {}


def test_random_conforms() -> None:
    assert check_agent("random") is None


ACTING = [
    ("ActsOutside", "check_actions_lie_in_the_space", "Discrete(3) has no such"),
    ("AnswersOneLane", "check_actions_lie_in_the_space", "expected 3 integers, one a lane"),
    ("DrawsGlobally", "check_same_seed_same_actions", "draw each lane's random numbers from a generator made of"),
    ("DrawsGlobally", "check_global_random_state_is_left_alone", "the global state of numpy had changed"),
    ("TouchesGlobalState", "check_global_random_state_is_left_alone", "the global state of numpy had changed"),
    ("Unseeded", "check_same_seed_same_actions", "two fresh adapters differed at step"),
    ("WritesToObservations", "check_observations_are_not_written_to", "work on a copy"),
    ("KeepsItsMemory", "check_episodes_start_afresh", "played first and played after another, it differed at step 0"),
    ("ForgetsAllLanes", "check_a_starting_lane_leaves_the_others_alone", "of the starting lanes only"),
    ("SharesItsDraws", "check_lanes_do_not_touch_each_other", "alone and among 3 lanes, it differed"),
    ("KnowsNoIdleLanes", "check_idle_lanes_are_tolerated", "KeyError: 'no generator for that lane'"),
]
WEIGHTS = [
    ("AcceptsAnything", "check_missing_checkpoint_is_refused", "a path where there is no file was accepted"),
    ("AcceptsAnything", "check_random_bytes_are_refused", "a file of random bytes was accepted"),
    ("AcceptsAnything", "check_truncated_checkpoint_is_refused", "the first half of a checkpoint was accepted"),
    ("MissesMissingFiles", "check_missing_checkpoint_is_refused", "never fall back to fresh weights"),
    ("RaisesValueError", "check_random_bytes_are_refused", "raised UnicodeDecodeError"),
    ("AcceptsHalf", "check_truncated_checkpoint_is_refused", "the first half of a checkpoint was accepted"),
    ("LoadsNothing", "check_weights_decide_the_actions", "built with the context seeds 0 and 1"),
    ("Unpickles", "check_pickles_are_not_executed", "the code in a foreign pickle ran, before CheckpointError"),
]
TRAINING = [
    ("TrainsElsewhere", "check_training_leaves_a_checkpoint", "write everything under request.directory"),
    ("Overspends", "check_training_keeps_to_its_budget", "with a budget of 100 steps it reported 101"),
    ("TrainsInSilence", "check_training_keeps_to_its_budget", "it reported nothing"),
    ("BeginsAgain", "check_training_goes_on", "the weights had changed"),
    ("IgnoresSettings", "check_unknown_setting_is_refused", "overrides={'no_such_setting': 1} was accepted"),
]


@pytest.mark.parametrize(("adapter", "check", "message"), [*ACTING, *WEIGHTS, *TRAINING])
def test_a_faulty_agent_is_told_its_fault(adapter: str, check: str, message: str) -> None:
    assert message in faults(manifest(adapter)).get(check, "")


ALONE = ["WritesToObservations", "TouchesGlobalState", "KeepsItsMemory", "KnowsNoIdleLanes", "AcceptsHalf"]
ALONE += ["LoadsNothing", "Unpickles", "TrainsElsewhere", "Overspends", "BeginsAgain", "IgnoresSettings"]


@pytest.mark.parametrize("adapter", ALONE)
def test_one_fault_fails_one_check(adapter: str) -> None:
    assert len(faults(manifest(adapter))) == 1


@pytest.mark.parametrize(
    ("adapter", "check", "message"),
    [
        ("EvaluatesFewer", "check_evaluate_returns_numbers", "evaluate(3) returned 2 returns"),
        ("EvaluatesToNaN", "check_evaluate_returns_numbers", "finite number"),
        ("EvaluatesUnseeded", "check_evaluate_is_reproducible", "equal seeds measure equal returns"),
    ],
)
def test_an_evaluate_of_ones_own_is_checked_too(adapter: str, check: str, message: str) -> None:
    found = faults(evaluator(adapter))
    assert message in found[check]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("fields", "check", "message"),
    [
        ({"name": "My Agent"}, "check_name", "named 'My Agent'"),
        ({"summary": ""}, "check_summary", "say in one line what it is"),
        ({"summary": "one\ntwo"}, "check_summary", "summary='one\\ntwo'"),
        ({"devices": ("cuda:0",)}, "check_devices", "name the kinds"),
        ({"env_defaults": {"*": {"size": 3}}}, "check_env_defaults", "env_defaults['*'] sets size"),
        ({"demo": Demo(game="wm/Cach-v0")}, "check_demo", "wm/Catch-v0"),
        ({"capabilities": ("evaluate", "train", "imagine")}, "check_capabilities", "remove 'imagine'"),
        ({"capabilities": ("evaluate",)}, "check_capabilities", "add 'train'"),
        ({"capabilities": ("evaluate",)}, "check_there_are_weights", "give the kit a small one"),
        ({"adapter": f"{AGENTS}:NotThere"}, "check_adapter", "NotThere"),
        ({"adapter": f"{AGENTS}:NoPolicy", "capabilities": ("evaluate",)}, "check_adapter", "NoPolicy lacks one"),
    ],
)
def test_a_faulty_manifest_is_told_its_fault(fields: dict[str, Any], check: str, message: str) -> None:
    subject = AgentUnderTest(manifest("Sound", **fields))
    (named,) = [c for c in checks_that_apply(subject) if c.__name__ == check]
    with pytest.raises(ConformanceError) as error:
        named(subject)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "check", "message"),
    [
        ({"api_version": 2}, "check_api_version", "api_version=2"),
        ({"presets": ("tiny", "tiny")}, "check_presets_differ", "remove the repeated ones"),
    ],
)
def test_check_agent_raises_the_first_fault(fields: dict[str, Any], check: str, message: str) -> None:
    (named,) = [c for c in OF_EVERY_AGENT if c.__name__ == check]
    with pytest.raises(ConformanceError, match=message):
        named(AgentUnderTest(manifest("Sound", **fields)))


LIGHT = "from wm_core.specs import AgentManifest\nIT = AgentManifest(name='it', adapter=__name__ + ':A')\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (f"import gymnasium\n{LIGHT}", "pulled in numpy, gymnasium"),
        (f"import json\nif 'pytest' not in __import__('sys').modules: raise OSError('gone')\n{LIGHT}", "OSError: gone"),
    ],
)
def test_a_heavy_manifest_is_told_what_it_pulls_in(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"wm_heavy_{len(source)}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(name)
    monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(ConformanceError, match=message):
        OF_EVERY_AGENT[0](AgentUnderTest(module.IT))


def test_a_manifest_that_no_module_has_cannot_be_an_entry_point() -> None:
    with pytest.raises(ConformanceError, match="bound to no module's name"):
        OF_EVERY_AGENT[0](AgentUnderTest(manifest("Sound")))


def test_the_base_class_has_a_test_for_each_check_that_applies() -> None:
    class TestSound(AgentConformance):
        manifest = globals()["manifest"]("Sound")

    parts = [OF_EVERY_AGENT, OF_AGENTS_THAT_ACT, OF_EVALUATE, OF_AGENTS_THAT_NEED_WEIGHTS, OF_WEIGHTS]
    names = {check.__name__.replace("check_", "test_", 1) for part in [*parts, OF_AGENTS_THAT_TRAIN] for check in part}
    assert {name for name in vars(TestSound) if name.startswith("test_")} == names


def test_a_subclass_may_replace_a_test() -> None:
    class TestMine(AgentConformance):
        manifest = globals()["manifest"]("ActsOutside")

        def test_actions_lie_in_the_space(self) -> str:
            return "mine"

    assert TestMine().test_actions_lie_in_the_space() == "mine"


def test_torchs_global_state_is_watched_where_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter(range(1000))
    torch = SimpleNamespace(get_rng_state=lambda: SimpleNamespace(numpy=lambda: np.array([next(draws)])))
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = faults(manifest("Sound"))
    assert "the global state of torch had changed" in found.pop("check_global_random_state_is_left_alone")
    assert found == {}


def test_the_kit_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = registry.names("agents"), random.getstate(), np.random.get_state()[1].tolist()
    assert faults(manifest("Sound")) == {}
    assert (registry.names("agents"), random.getstate(), np.random.get_state()[1].tolist()) == before
    assert list(tmp_path.iterdir()) == []


class TestRandom(AgentConformance):
    manifest = RANDOM
