"""What `wmbench doctor` says of the chain behind the bridge: interpreter, package, Java, display."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wm_core.errors import UsageError
from wm_core.protocols import Diagnosis
from wm_env_minecraft.interpreter import VARIABLE, game_python

_PYTHON = {"minerl": "3.8 (MineRL 0.4) or 3.10 (MineRL 1.0)", "minedojo": "3.10"}
_TITLE = {"minerl": "MineRL", "minedojo": "MineDojo"}
_INSTALL = {
    "minerl": "pip install 'gym<0.20' minerl==0.4.4 (for MineRL 1.0: from its repository, with gym 0.19 to 0.23.1)",
    "minedojo": "pip install 'gym==0.21.0' 'numpy<1.24' minedojo (with setuptools 65.5 and wheel below 0.40)",
}
_PROBE = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {"python": list(sys.version_info[:3])}
for name in ("numpy", "gym", "minerl", "minedojo"):
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""
_PROBE_S = 60.0


def diagnoses(library: str) -> list[Diagnosis]:
    """The chain of 'minerl' or 'minedojo', each link where the ones before it stand.

    Where `WM_MINECRAFT_PYTHON` is not set, nobody wants Minecraft: one line then says what it would take.
    """
    title = _TITLE[library]
    if not os.environ.get(VARIABLE):
        steps = (
            f"not set up, and not needed otherwise. To play: 1. Python {_PYTHON[library]}; "
            f"2. {_INSTALL[library]}; 3. Java 8; 4. a display, or xvfb; 5. {VARIABLE}=that interpreter"
        )
        return [Diagnosis(name=title, ok=True, detail=steps)]
    try:
        python = game_python()
        found = _probed(python)
    except UsageError as error:
        remedy = f"install Python {_PYTHON[library]}, make an environment, and set {VARIABLE} to its bin/python"
        return [Diagnosis(name=f"{title}: interpreter", ok=False, detail=str(error), remedy=remedy)]
    if not found[library] and any(found[other] for other in _TITLE if other != library):
        return [Diagnosis(name=title, ok=True, detail=f"not in {python}, which is for another library")]
    return [
        Diagnosis(name=f"{title}: interpreter", ok=True, detail=f"{python}, {_version(found['python'])}"),
        *_packages(library, title, found),
        _java(title),
        *_display(title),
    ]


def _probed(python: Path) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [python, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=_PROBE_S, check=False
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise UsageError(f"{python} does not run Python 3.8 or newer ({type(error).__name__})") from error
    return found


def _packages(library: str, title: str, found: dict[str, Any]) -> Iterator[Diagnosis]:
    yield Diagnosis(
        name=f"{title}: numpy",
        ok=found["numpy"] is not None,
        detail=found["numpy"] or "not installed",
        remedy="pip install 'numpy<1.24' into that interpreter",
    )
    yield Diagnosis(
        name=f"{title}: package",
        ok=found[library] is not None,
        detail=f"{library} {found[library]}, gym {found['gym']}" if found[library] else f"{library} is not installed",
        remedy=f"into that interpreter: {_INSTALL[library]}",
    )


def _java(title: str) -> Diagnosis:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    said = ""
    if shutil.which(java):
        try:
            done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_PROBE_S, check=False)
            said = done.stderr + done.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"{type(error).__name__}: {error}"
    version = re.search(r'version "([^"]+)"', said)
    return Diagnosis(
        name=f"{title}: Java",
        ok=version is not None and version[1].startswith("1.8."),
        detail=f"{java}: {version[1]}" if version else f"{java}: {said.strip()[:80] or 'not found'}",
        remedy="install a Java 8 development kit, and point JAVA_HOME to it",
    )


def _display(title: str) -> Iterator[Diagnosis]:
    if sys.platform != "linux":
        return
    display, xvfb = os.environ.get("DISPLAY"), shutil.which("xvfb-run")
    headless = any(os.environ.get(name) == "1" for name in ("MINEDOJO_HEADLESS", "MINERL_HEADLESS"))
    yield Diagnosis(
        name=f"{title}: display",
        ok=bool(display) or (headless and xvfb is not None),
        detail=f"DISPLAY={display}" if display else f"no DISPLAY; xvfb-run: {xvfb or 'not found'}",
        remedy="begin the command with `xvfb-run -a`" if xvfb else "install xvfb, then begin with `xvfb-run -a`",
    )


def _version(parts: list[int]) -> str:
    return f"Python {'.'.join(map(str, parts))}"
