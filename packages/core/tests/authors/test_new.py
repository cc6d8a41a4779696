"""`wmbench new-agent` and `new-env`: names, places, and what is written."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from wm_core.cli.new import _check_name, new_agent, new_env
from wm_core.errors import UsageError


def invoke(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)  # type: ignore[arg-type]


def write(kind: str, name: str, directory: Path) -> Path:
    """A rendered distribution."""
    assert invoke({"agent": new_agent, "env": new_env}[kind], name, "--directory", directory).exit_code == 0
    return directory


@pytest.mark.parametrize(("kind", "group"), [("agent", "wm.agents"), ("env", "wm.envs")])
def test_a_whole_distribution_is_written(kind: str, group: str, tmp_path: Path) -> None:
    root = write(kind, "my-own", tmp_path / "here")
    package = f"wm_{kind}_my_own"
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["name"] == f"wm-{kind}-my-own"
    assert project["entry-points"][group] == {"my-own": f"{package}.plugin:MANIFEST"}
    assert (root / "src" / package / "plugin.py").exists()
    assert (root / "tests" / "test_conformance.py").exists()
    assert (root / "README.md").read_text().startswith(f"# wm-{kind}-my-own\n")


def test_without_a_directory_it_lies_in_one_named_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "next: cd wm-agent-mine && " in invoke(new_agent, "mine").output
    assert "next: cd wm-env-mine && " in invoke(new_env, "mine").output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wm-agent-mine", "wm-env-mine"]


def test_an_existing_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(UsageError, match="is there already and is not overwritten"):
        invoke(new_agent, "mine", "--directory", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        invoke(new_agent, "mine", "--directory", tmp_path / "file" / "below")


@pytest.mark.parametrize(
    "name", ["Mine", "my_agent", "2048", "-mine", "mine-", "my--agent", "my agent", "../mine", "", "a" * 41]
)
def test_a_name_that_pypi_would_change_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no plugin name"):
        invoke(new_agent, "--directory", tmp_path / "x", "--", name)
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.text(max_size=50), st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)))
def test_a_name_that_is_accepted_is_one_everywhere(name: str) -> None:
    try:
        _check_name(name)
    except UsageError:
        return
    assert canonicalize_name(name) == name
    assert name.replace("-", "_").isidentifier()
    assert "".join(part.capitalize() for part in name.split("-")).isidentifier()


@pytest.mark.parametrize("command", [new_agent, new_env])
def test_a_word_of_pythons_is_refused(command: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'class' is a word of Python's own"):
        invoke(command, "class", "--directory", tmp_path / "x")


def test_a_name_that_is_taken_is_warned_of(tmp_path: Path) -> None:
    done = invoke(new_agent, "random", "--directory", tmp_path / "x")
    assert "warning: 'random' is taken by wm-core" in done.stderr
    assert (tmp_path / "x" / "pyproject.toml").exists()


def test_a_new_name_is_not_warned_of(tmp_path: Path) -> None:
    assert invoke(new_env, "random", "--directory", tmp_path / "x").stderr == ""


@pytest.mark.parametrize("name", ["a", "my-own", "an-" + "extraordinarily" * 2 + "-long-1"])
@pytest.mark.parametrize("kind", ["agent", "env"])
def test_what_is_written_is_clean(name: str, kind: str, tmp_path: Path) -> None:
    root = write(kind, name, tmp_path / "x")
    for arguments in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
