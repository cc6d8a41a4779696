"""Old interpreters with old gyms, made once and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

DOUBLES = Path(__file__).parent / "doubles"
STAND_IN = Path(__file__).parent / "stand_in"
COMBINATIONS = {
    "3.8": ("gym==0.19.0", "numpy<1.25"),
    "3.9": ("gym==0.23.1", "numpy<2"),
    "3.10": ("gym==0.21.0", "numpy<1.24"),
}
"""Python -> the gym that MineRL 0.4, MineRL 1.0 and MineDojo 0.1 are used with there."""
INSTEAD = ("gym==0.23.1", "numpy<2; python_version < '3.13'", "numpy<2.3; python_version >= '3.13'")
"""For this Python itself, where there is no older one."""
BUILD_TOOLS = ("setuptools<66; python_version < '3.12'", "setuptools<81; python_version >= '3.12'", "wheel<0.40")
"""Old gyms are built by old tools only, which do not know the newest Pythons."""


class NotInstalled(Exception):
    """An environment's packages could not be installed, as where there is no network."""


@dataclass(frozen=True)
class OldPython:
    """An interpreter with an old gym, and the doubles of both libraries."""

    version: str
    gym: str
    python: Path


def _interpreter(version: str) -> Path | None:
    """A Python of that version: one of pyenv's or uv's, or one on the path."""
    home = Path.home()
    kept = [
        *Path(os.environ.get("PYENV_ROOT", home / ".pyenv")).glob(f"versions/{version}.*/bin/python{version}"),
        *(home / ".local/share/uv/python").glob(f"cpython-{version}.*/bin/python{version}"),
    ]
    on_path = shutil.which(f"python{version}")
    for candidate in [*sorted(kept), *([Path(on_path)] if on_path else [])]:
        code = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return candidate
    return None


def available() -> list[str]:
    """The older versions there are on this machine, or else this very one, with a warning that says so."""
    found = [version for version in COMBINATIONS if _interpreter(version)]
    if not found:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        warnings.warn(
            f"no Python {', '.join(COMBINATIONS)} was found: the bridge is tested to a Python {own} in an "
            "environment of its own",
            stacklevel=2,
        )
        found = [own]
    return found


AVAILABLE = available()


def run(*command: object, timeout: float = 600) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise NotInstalled(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def environment(folder: Path, version: str, requirements: tuple[str, ...]) -> Path:
    """The interpreter of an environment with `requirements`, made where it is not there yet."""
    python = folder / "bin" / "python"
    ready = folder / "ready"
    with FileLock(f"{folder}.lock"):
        if not ready.exists() or subprocess.run([python, "-c", ""], check=False).returncode:
            shutil.rmtree(folder, ignore_errors=True)
            run(_interpreter(version) or sys.executable, "-m", "venv", folder)
            pip = [
                python,
                "-m",
                "pip",
                "--quiet",
                "--disable-pip-version-check",
                "--retries=1",
                "--timeout=15",
                "install",
            ]
            run(*pip, *BUILD_TOOLS)
            run(*pip, "--no-build-isolation", *requirements)
            ready.touch()
    return python


def stand_in(folder: Path) -> Path:
    """An environment of this Python with numpy alone, made without a network."""
    python = folder / "bin" / "python"
    with FileLock(f"{folder}.lock"):
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        for pattern in ("numpy", "numpy.libs", "numpy-*.dist-info"):
            for part in Path(np.__file__).parents[1].glob(pattern):
                (site / part.name).symlink_to(part)
    return python


@pytest.fixture(scope="session")
def cache() -> Path:
    """Outside of the repository, for all its copies: `wmbench-tests` in the user's cache."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmbench-tests" / "minecraft"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def launcher(folder: Path, python: Path, *paths: Path) -> Path:
    """A launcher of `python` that finds modules in `paths` too; the kept environment stays as it is."""
    found = folder / "python"
    found.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{":".join(map(str, paths))}" exec "{python}" "$@"\n')
    found.chmod(0o755)
    return found


def old_python(cache: Path, version: str, folder: Path) -> OldPython:
    requirements = COMBINATIONS.get(version, INSTEAD)
    gym = requirements[0].partition("==")[2]
    try:
        python = environment(cache / f"python{version}-gym{gym}", version, requirements)
    except NotInstalled as error:
        said = str(error).strip().splitlines()[-1]
        warnings.warn(
            f"gym {gym} cannot be installed ({said}): the bridge is tested to this Python in an environment of its "
            "own, with a stand-in of gym",
            stacklevel=2,
        )
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        return OldPython(own, "stand-in", launcher(folder, stand_in(folder / "environment"), STAND_IN, DOUBLES))
    return OldPython(version, gym, launcher(folder, python, DOUBLES))


@pytest.fixture(scope="session")
def one_python(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> OldPython:
    """The oldest there is."""
    return old_python(cache, AVAILABLE[0], tmp_path_factory.mktemp("python"))


@pytest.fixture(
    scope="session", params=[AVAILABLE[0], *(pytest.param(it, marks=pytest.mark.slow) for it in AVAILABLE[1:])]
)
def each_python(
    request: pytest.FixtureRequest, cache: Path, one_python: OldPython, tmp_path_factory: pytest.TempPathFactory
) -> OldPython:
    """Every older Python there is, one after the other."""
    if request.param == AVAILABLE[0]:
        return one_python
    return old_python(cache, request.param, tmp_path_factory.mktemp("python"))


@pytest.fixture
def minecraft_python(one_python: OldPython, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The oldest, as a user would name it."""
    monkeypatch.setenv("WM_MINECRAFT_PYTHON", str(one_python.python))
    return one_python.python


class Interpreters:
    """How environments of other Pythons are made, for tests that need one of their own."""

    environment = staticmethod(environment)
    run = staticmethod(run)

    @staticmethod
    def need(version: str) -> None:
        """End the test here where this machine has no Python of that version: the library runs in no other."""
        if version not in AVAILABLE:
            pytest.skip(f"this machine has no Python {version}, in which alone the library runs")


@pytest.fixture(scope="session")
def interpreters() -> type[Interpreters]:
    """`environment` and `run`."""
    return Interpreters
