"""Minecraft through the command line: what is measured, and what a lost game costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wm_core.cli.main import cli
from wm_core.protocols import Diagnosis
from wm_core.specs import EpisodeRecord, FailureRecord
from wm_core.store import RunDirectory
from wm_core.testing import EnvConformance
from wm_env_minecraft import minerl_backend
from wm_env_minecraft.chain import diagnoses
from wm_env_minecraft.plugin import MINERL


def wmbench(*arguments: object) -> Any:
    return cli.main([*map(str, arguments)], prog_name="wmbench", standalone_mode=False)


@pytest.fixture(autouse=True)
def _as_a_user(one_python: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_MINECRAFT_PYTHON", str(one_python.python))


def records(path: Path, kind: type) -> list[Any]:
    return [record for record in RunDirectory.attach(path).records() if isinstance(record, kind)]


def test_minerl_is_measured_by_its_id(tmp_path: Path) -> None:
    code = wmbench(
        "run", "-a", "random", "-g", "MineRLTreechop-v0", "-n", 2, "--env", "max_frames=20", "--out-dir", tmp_path
    )
    assert code == 0
    episodes = records(tmp_path, EpisodeRecord)
    assert [(e.length, e.terminated, e.truncated) for e in episodes] == [(20, False, True)] * 2
    report = json.loads((tmp_path / "benchmark_results.json").read_text())
    assert report["games"][0]["env"]["backend"] == "minerl"
    assert report["coverage"] == {"measured": 2, "planned": 2}


def test_minedojo_is_measured_with_env_backend(tmp_path: Path) -> None:
    options = ("-g", "harvest_milk", "--env-backend", "minedojo", "--num-envs", 1)
    assert wmbench("run", "-a", "random", *options, "-n", 2, "--out-dir", tmp_path) == 0
    assert {episode.cell.game for episode in records(tmp_path, EpisodeRecord)} == {"minedojo/harvest_milk"}
    assert {episode.episode_return for episode in records(tmp_path, EpisodeRecord)} == {1.0}


def test_a_lost_game_is_a_failure_in_the_store_and_lowers_the_coverage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(minerl_backend.STEP_LIMITS, "MineRLDoubleLost-v0", 500)
    code = wmbench("run", "-a", "random", "-g", "MineRLDoubleLost-v0", "-n", 2, "--num-envs", 1, "--out-dir", tmp_path)
    assert code == 1
    assert records(tmp_path, EpisodeRecord) == []
    failures = records(tmp_path, FailureRecord)
    assert [failure.episode for failure in failures] == [0, 1]
    assert all("MineRL lost its Minecraft: Connection timed out!" in failure.message for failure in failures)
    report = json.loads((tmp_path / "benchmark_results.json").read_text())
    assert report["coverage"] == {"measured": 0, "planned": 2}


def test_the_interpreter_may_be_named_on_the_command_line(
    one_python: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WM_MINECRAFT_PYTHON", "")
    run = ("run", "-a", "random", "-g", "MineRLTreechop-v0", "-n", 1, "--env", "max_frames=3", "--out-dir", tmp_path)
    assert wmbench("minecraft", "--minecraft-python", one_python.python, *run) == 0
    assert len(records(tmp_path, EpisodeRecord)) == 1


class TestConformance(EnvConformance):
    """The kit, through the bridge."""

    manifest = MINERL
    game = "MineRLTreechop-v0"


def named(rows: list[Diagnosis]) -> dict[str, Diagnosis]:
    return {row.name.rpartition(": ")[2]: row for row in rows}


def test_doctor_asks_for_nothing_where_minecraft_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WM_MINECRAFT_PYTHON")
    for library in ("minerl", "minedojo"):
        (row,) = diagnoses(library)
        assert row.ok
        places = [row.detail.index(link) for link in ("1. Python", "2. pip install", "3. Java 8", "4. a display")]
        assert places == sorted(places)


def test_doctor_names_the_first_link_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_MINECRAFT_PYTHON", "/no/such/python")
    (row,) = diagnoses("minerl")
    assert not row.ok
    assert "/no/such/python" in row.detail
    assert "3.8 (MineRL 0.4)" in row.remedy


def test_doctor_checks_interpreter_package_java_and_display_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    rows = diagnoses("minerl")
    assert [row.name for row in rows][:4] == [
        "MineRL: interpreter",
        "MineRL: numpy",
        "MineRL: package",
        "MineRL: Java",
    ]
    found = named(rows)
    assert found["interpreter"].ok
    assert found["numpy"].ok
    assert not found["package"].ok
    assert "minerl==0.4.4" in found["package"].remedy


@pytest.mark.parametrize(
    ("said", "fits"), [('openjdk version "1.8.0_392"', True), ('openjdk version "17.0.15"', False), ("oops", False)]
)
def test_doctor_wants_java_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, fits: bool) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    row = named(diagnoses("minerl"))["Java"]
    assert row.ok == fits
    assert "JAVA_HOME" in row.remedy


@pytest.mark.parametrize(("display", "fits"), [(":0", True), ("", False)])
def test_doctor_wants_a_display(monkeypatch: pytest.MonkeyPatch, display: str, fits: bool) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    row = named(diagnoses("minerl"))["display"]
    assert row.ok == fits
    assert "xvfb-run -a" in row.remedy
