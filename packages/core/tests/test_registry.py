"""Names -> plugins, with real distribution metadata on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wm_core import registry
from wm_core.errors import PluginError
from wm_core.specs import AgentManifest

Installer = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Put a distribution with one entry point on the path, as an installer would leave it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(distribution: str, entry: str, *, module: str = "", source: str = "", group: str = "wm.agents") -> None:
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
        if module:
            (tmp_path / f"{module}.py").write_text(source)
        registry.rescan()

    yield write
    registry.rescan()
    for name in [name for name in sys.modules if name.startswith("stranger_")]:
        del sys.modules[name]


MANIFEST = (
    "from wm_core.specs import AgentManifest\nIT = AgentManifest(name={name!r}, adapter='x:Y', api_version={api})\n"
)


def test_names_are_listed_without_importing_the_plugin(install: Installer) -> None:
    install("stranger", "newcomer = stranger_a:IT", module="stranger_a", source="raise RuntimeError('imported')")
    assert "newcomer" in registry.names("agents")
    assert "stranger_a" not in sys.modules


def test_a_strangers_manifest_loads_by_name(install: Installer) -> None:
    install(
        "stranger",
        "newcomer = stranger_b:IT",
        module="stranger_b",
        source=MANIFEST.format(name="newcomer", api=1),
    )
    assert registry.manifest("agents", "newcomer").name == "newcomer"
    assert registry.find("agents", "newcomer").source == "stranger 1.2"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(PluginError, match="did you mean random"):
        registry.load("agents", "randon")


def test_a_known_but_absent_agent_is_answered_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KNOWN_DISTRIBUTIONS, "zzz", "wm-agent-zzz")
    with pytest.raises(PluginError, match="pip install wm-agent-zzz"):
        registry.load("agents", "zzz")


def test_two_distributions_with_one_name_are_both_named(install: Installer) -> None:
    install("stranger-one", "twice = stranger_c:IT")
    install("stranger-two", "twice = stranger_d:IT")
    with pytest.raises(PluginError, match=r"stranger-one 1\.2 and stranger-two 1\.2|stranger-two.* and stranger-one"):
        registry.find("agents", "twice")


def test_a_failing_import_names_distribution_version_and_cause(install: Installer) -> None:
    install("stranger", "broken = stranger_e:IT", module="stranger_e", source="import not_there_at_all")
    with pytest.raises(PluginError, match=r"'broken' from stranger 1\.2 failed.*No module named 'not_there_at_all'"):
        registry.load("agents", "broken")


def test_a_broken_plugin_does_not_hurt_another(install: Installer) -> None:
    install("stranger", "broken = stranger_f:IT", module="stranger_f", source="raise SystemError('no')")
    assert registry.manifest("agents", "random").name == "random"


def test_a_plugin_that_exits_on_import_is_a_broken_plugin(install: Installer) -> None:
    install("stranger", "quits = stranger_q:IT", module="stranger_q", source="raise SystemExit(0)")
    with pytest.raises(PluginError, match="'quits' from stranger"):
        registry.load("agents", "quits")


@pytest.mark.parametrize("name", ["", " ", "..", "a/b", ".hidden", "a\\b", "a\nb", "x" * 81])
def test_a_name_that_cannot_name_a_directory_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        AgentManifest(name=name, adapter="m:A")


@pytest.mark.parametrize(("api", "side"), [(0, "upgrade it"), (2, "upgrade wm-core")])
def test_another_api_version_says_which_side_to_upgrade(install: Installer, api: int, side: str) -> None:
    module = f"stranger_g{api}"
    install("stranger", f"old = {module}:IT", module=module, source=MANIFEST.format(name="old", api=api))
    with pytest.raises(PluginError, match=side):
        registry.load("agents", "old")


def test_an_entry_point_to_something_else_is_refused(install: Installer) -> None:
    install("stranger", "odd = stranger_h:IT", module="stranger_h", source="IT = 3")
    with pytest.raises(PluginError, match=r"is a int; its entry point must name a wm_core\.AgentManifest"):
        registry.load("agents", "odd")


def test_a_manifest_that_calls_itself_otherwise_is_refused(install: Installer) -> None:
    install("stranger", "one = stranger_i:IT", module="stranger_i", source=MANIFEST.format(name="other", api=1))
    with pytest.raises(PluginError, match="calls itself 'other'"):
        registry.load("agents", "one")


def test_register_makes_a_name_known_until_it_is_unregistered() -> None:
    registry.register(AgentManifest(name="inline", adapter="m:A"))
    try:
        assert registry.manifest("agents", "inline").adapter == "m:A"
    finally:
        registry.unregister("inline")
    assert "inline" not in registry.names("agents")


def test_a_file_gives_its_manifest(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MANIFEST.format(name="from-file", api=1))
    try:
        assert registry.load_file(f"{file}:IT").name == "from-file"
        assert registry.manifest("agents", "from-file").adapter == "x:Y"
    finally:
        registry.unregister("from-file")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("{file}:NOTHING", "has no attribute"),
        ("{file}:NUMBER", "is a int; name an AgentManifest, EnvManifest or Suite"),
        ("{file}.gone.py:IT", "no file"),
        ("{file}", "expected 'module:NAME' or 'file.py:NAME'"),
    ],
)
def test_a_wrong_file_reference_says_why(tmp_path: Path, reference: str, message: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("NUMBER = 3\n")
    with pytest.raises(PluginError, match=message):
        registry.load_file(reference.format(file=file))


def test_an_adapter_that_does_not_exist_is_blamed_on_its_distribution() -> None:
    registry.register(AgentManifest(name="hollow", adapter="wm_core.random_policy:Missing"))
    try:
        with pytest.raises(PluginError, match=r"the agent 'hollow' from register.*Missing"):
            registry.load_adapter("hollow")
    finally:
        registry.unregister("hollow")
