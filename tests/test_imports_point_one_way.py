"""agents -> torchkit -> core; environments -> core; core -> nobody of ours; agents never import each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parent.parent / "packages"
SOURCES = {path.name: path for package in PACKAGES.iterdir() for path in (package / "src").glob("wm_*")}


def allowed(package: str) -> set[str]:
    if package == "wm_core":
        return {package}
    if package == "wm_torchkit" or package.startswith("wm_env_"):
        return {package, "wm_core"}
    return {package, "wm_core", "wm_torchkit"}


def ours(source: Path) -> set[str]:
    """Top-level names of our own packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return {name for name in found if name.startswith("wm_")}


@pytest.mark.parametrize("package", sorted(SOURCES))
def test_imports_point_one_way(package: str) -> None:
    files = [file for file in SOURCES[package].rglob("*.py") if "templates" not in file.parts]
    assert files
    wrong = {str(file): ours(file) - allowed(package) for file in files if ours(file) - allowed(package)}
    assert wrong == {}


def test_the_core_imports_torch_only_where_it_looks_for_devices() -> None:
    asking = {
        file.name
        for file in SOURCES["wm_core"].rglob("*.py")
        if "templates" not in file.parts and "import torch" in file.read_text()
    }
    assert asking <= {"devices.py", "provenance.py", "doctor.py"}
