"""Installed from wheels into a fresh environment, a stranger's agent is treated like our own, and ours works alone.

A fresh environment holds wheels and the third-party distributions that they declare: nothing else, so neither an
editable install nor an undeclared dependency can help.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))


def run(*command: object, cwd: Path | None = None) -> str:
    """Standard output of a command that must succeed, without this process's PYTHONPATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env=environment, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(project: Path, out: Path) -> Path:
    """The wheel of a project."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, project)
    (wheel,) = out.glob("*.whl")
    return wheel


@dataclass(frozen=True)
class Fresh:
    """An environment with nothing but what is installed into it."""

    root: Path

    def python(self, code: str) -> str:
        return run(self.root / "bin" / "python", "-c", code).strip()

    def wmbench(self, *arguments: object) -> str:
        return run(self.root / "bin" / "wmbench", *arguments, cwd=self.root)

    def install(self, wheel: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.root / "bin" / "python", "--disable-pip-version-check"]
        run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)

    def lend(self, wheel: Path) -> None:
        """Link the third-party distributions that a wheel declares, and those that they declare."""
        site = Path(self.python("import sysconfig; print(sysconfig.get_path('purelib'))"))
        for name in sorted(declared(wheel)):
            found = distribution(name)
            for top in {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")}:
                if not (site / top).exists():
                    (site / top).symlink_to(str(found.locate_file(top)))


def declared(wheel: Path) -> set[str]:
    """Names of all third-party distributions that a wheel needs, through any number of others; extras left out."""
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        waiting = PathDistribution(zipfile.Path(archive, f"{folder}/")).requires or []
    names: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in names and not requirement.name.startswith("wm-"):
            names.add(requirement.name)
            waiting += distribution(requirement.name).requires or []
    return names


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of each of our packages, by folder."""
    return {package.name: build(package, tmp_path_factory.mktemp(package.name)) for package in PACKAGES}


@pytest.fixture(scope="module")
def fresh(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """The core, and the agent 'stranger' as `wmbench new-agent` writes it."""
    root = tmp_path_factory.mktemp("fresh")
    venv.create(root, with_pip=False)
    environment = Fresh(root)
    environment.lend(wheels["core"])
    environment.install(wheels["core"])
    environment.wmbench("new-agent", "stranger")
    environment.install(build(root / "wm-agent-stranger", root / "dist"))
    return environment


def test_every_package_builds_a_wheel_of_the_one_version(wheels: dict[str, Path]) -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert len(wheels) == len(PACKAGES) > 0
    for wheel in wheels.values():
        assert wheel.name.split("-")[1] == version
        with zipfile.ZipFile(wheel) as archive:
            assert not [name for name in archive.namelist() if name.startswith("tests/")]


def test_the_core_comes_from_the_fresh_environment(fresh: Fresh) -> None:
    assert Path(fresh.python("import wm_core; print(wm_core.__file__)")).is_relative_to(fresh.root)


def test_there_is_no_learning_library_and_no_pytest(fresh: Fresh) -> None:
    found = fresh.python("from importlib.util import find_spec as f; print([f(n) for n in ('torch', 'pytest')])")
    assert found == "[None, None]"


def plugins(fresh: Fresh, *options: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = json.loads(fresh.wmbench("plugins", "--json", *options))
    return {(row["kind"], row["name"]): row for row in rows}


def test_the_stranger_is_listed_with_its_distribution(fresh: Fresh) -> None:
    assert plugins(fresh)["agents", "stranger"]["source"] == "wm-agent-stranger 0.1.0"


def test_only_what_is_installed_is_listed_and_all_of_it_loads(fresh: Fresh) -> None:
    rows = plugins(fresh, "--check")
    assert {name for kind, name in rows if kind == "agents"} == {"random", "stranger"}
    assert {row["state"] for row in rows.values()} == {"ok"}


def test_the_stranger_is_measured_by_name(fresh: Fresh, tmp_path: Path) -> None:
    fresh.wmbench("run", "-a", "stranger", "--untrained", "-g", "wm/Catch-v0", "-n", 4, "--out-dir", tmp_path)
    report = json.loads((tmp_path / "benchmark_results.json").read_text())
    assert report["agent"] == "stranger"
    assert report["untrained"] is True
    assert report["coverage"] == {"measured": 4, "planned": 4}
    assert set(report["games"][0]["seeds"][0]["episode_returns"]) <= {-1.0, 1.0}
    assert report["provenance"]["packages"]["wm-agent-stranger"] == "0.1.0"


def test_the_stranger_is_trained_and_its_checkpoint_measured_in_workers(fresh: Fresh, tmp_path: Path) -> None:
    fresh.wmbench("train", "-a", "stranger", "--steps", 500, "--out", tmp_path / "training")
    weights = tmp_path / "training" / "weights.npz"
    options = ("-g", "wm/Catch-v0", "-c", weights, "--seeds", 2, "-n", 3, "--workers", 2)
    fresh.wmbench("run", "-a", "stranger", *options, "--out-dir", tmp_path / "run")
    report = json.loads((tmp_path / "run" / "benchmark_results.json").read_text())
    assert report["coverage"] == {"measured": 6, "planned": 6}
    assert report["games"][0]["checkpoint"]["path"] == str(weights)


def test_the_stranger_keeps_the_contract(fresh: Fresh) -> None:
    assert fresh.python("from wm_core.testing import check_agent; print(check_agent('stranger'))") == "None"


@pytest.mark.parametrize("agent", ["iris", "diamond", "genie"])
def test_an_agent_measures_what_it_bundles(wheels: dict[str, Path], tmp_path: Path, agent: str) -> None:
    venv.create(tmp_path / "fresh", with_pip=False)
    environment = Fresh(tmp_path / "fresh")
    for package in ("core", "torchkit", f"agent-{agent}"):
        environment.lend(wheels[package])
        environment.install(wheels[package])
    environment.wmbench("run", "--agent", agent, "-n", 8, "--out-dir", tmp_path / "out")
    report = json.loads((tmp_path / "out" / "benchmark_results.json").read_text())
    assert report["coverage"] == {"measured": 8, "planned": 8}
    assert report["untrained"] is False
    assert report["aggregate"]["per_seed_means"][0] >= 0.9
