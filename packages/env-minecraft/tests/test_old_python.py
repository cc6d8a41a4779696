"""What runs in the games' interpreters is written for Python 3.8 and needs nothing but numpy."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import wm_env_minecraft

PACKAGE = Path(wm_env_minecraft.__file__).parent
LENT = [PACKAGE / name for name in ("__init__.py", "wire.py", "processes.py")] + sorted(
    (PACKAGE / "server").glob("*.py")
)


@pytest.mark.parametrize("file", LENT, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_the_syntax_is_that_of_python_3_8(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 8))
    assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body) or (
        len(tree.body) == 1
    )


@pytest.mark.parametrize("file", LENT, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_the_imports_are_the_standard_librarys_numpy_and_each_other(file: Path) -> None:
    tree = ast.parse(file.read_text())
    guarded = [node for node in tree.body if isinstance(node, ast.If)] + [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
    ]
    late = {id(inner) for node in guarded for inner in ast.walk(node)}
    names = set()
    for node in ast.walk(tree):
        if id(node) in late:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    lent = {"wm_env_minecraft", "wm_env_minecraft.wire", "wm_env_minecraft.processes"}
    others = {
        name
        for name in names
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}
        and name not in lent
        and not name.startswith("wm_env_minecraft.server")
    }
    assert others == set()
