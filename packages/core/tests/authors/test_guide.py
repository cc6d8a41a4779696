"""`docs/write-a-plugin.md` says what is so."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from wm_core import AgentManifest, hooks, registry
from wm_core.cli.main import COMMANDS
from wm_core.testing import conformance

GUIDE = Path(__file__).parents[4].joinpath("docs", "write-a-plugin.md").read_text()


def test_its_manifest_is_a_manifest() -> None:
    (block,) = re.findall(r"^MANIFEST = .*?^\)$", GUIDE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {"AgentManifest": AgentManifest}
    exec(block, names)
    manifest = names["MANIFEST"]
    assert isinstance(manifest, AgentManifest)
    assert manifest.name == "mine"


def test_its_commands_exist() -> None:
    named = set(re.findall(r"wmbench ([a-z-]+)", GUIDE)) - {"needs", "run-cell"}
    assert {"new-agent", "new-env", "run", "train", "plugins"} <= named <= set(COMMANDS)


def test_its_modules_and_groups_exist() -> None:
    modules = set(re.findall(r"\b(wm_core(?:\.[a-z_]+)+)", GUIDE))
    assert modules
    assert [module for module in modules if find_spec(module) is None] == []
    assert set(re.findall(r"`wm\.([a-z]+)`", GUIDE)) <= set(registry.KINDS)


def test_its_names_exist() -> None:
    assert hasattr(hooks.HookSpecs, "wm_run_finished")
    assert hasattr(hooks, "hookimpl")
    for attribute in ("preset", "train_steps", "train_overrides", "checkpoint"):
        assert f"`{attribute}`" in GUIDE or f"{attribute} =" in GUIDE
        assert hasattr(conformance.AgentConformance, attribute)
