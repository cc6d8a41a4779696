"""Where numbers come from: versions, hardware, the command, the state of the repository it ran in."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from wm_core import registry
from wm_core.protocols import Notes
from wm_core.specs import Provenance, RunSpec

_ALWAYS = ("wm-core", "numpy", "gymnasium", "ale-py", "torch", "opencv-python-headless", "pillow")


def collect(spec: RunSpec) -> Provenance:
    """The provenance of a run that starts now in this process."""
    commit, dirty = git_state(Path.cwd())
    return Provenance(
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        command=_command_line(),
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=f"{_cpu_name()} ({os.cpu_count()} cores)",
        gpus=_gpus(spec.device),
        packages=_packages(spec),
        git_commit=commit,
        git_dirty=dirty,
        notes=_notes(spec),
    )


def _notes(spec: RunSpec) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for env in spec.envs:
        backend = registry.load_backend(env.backend)
        if isinstance(backend, Notes):
            found |= dict.fromkeys(backend.notes(env, spec.measures))
    return tuple(found)


def _command_line() -> str:
    """As it was typed; bytes that are not UTF-8 are escaped."""
    line = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return line.encode("utf-8", "backslashreplace").decode()


def git_state(directory: Path) -> tuple[str | None, bool | None]:
    """Commit and dirty flag of the repository around `directory`; (None, None) outside one or without git."""
    commit = _git(directory, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    status = _git(directory, "status", "--porcelain", "--untracked-files=no")
    return commit, None if status is None else bool(status)


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _packages(spec: RunSpec) -> dict[str, str]:
    owners = {"wm-core"}
    used: dict[registry.Kind, set[str]] = {"agents": {spec.agent}, "envs": {env.backend for env in spec.envs}}
    for kind, names in used.items():
        for name in names & set(registry.names(kind)):
            owners.add(registry.find(kind, name).source.split(" ")[0])
    wanted = {*_ALWAYS, *owners}
    for owner in owners - {"wm-core"}:
        wanted |= _direct_requirements(owner)
    return {name: found for name in sorted(wanted) if (found := _version(name)) is not None}


def _direct_requirements(distribution: str) -> set[str]:
    try:
        found = [Requirement(line) for line in requires(distribution) or ()]
        return {r.name.lower() for r in found if r.marker is None or r.marker.evaluate({"extra": ""})}
    except PackageNotFoundError:
        return set()


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()


def _gpus(device: str) -> tuple[str, ...]:
    if not device.startswith("cuda"):
        return ()
    import torch

    return tuple(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
