from __future__ import annotations

import re
from pathlib import Path

import pytest

from wm_torchkit.checkpoint import read_checkpoint

README = Path(__file__).parents[1] / "README.md"


def test_the_readmes_example_trains_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        namespace: dict[str, object] = {}
        exec(compile(code[1], str(README), "exec"), namespace)
    header, weights = read_checkpoint(Path(str(namespace["checkpoint"])), "example", "example/1")
    assert header.counters == {"epoch": 20, "updates": 950, "env_steps": 0}
    assert (weights["weight"] - 1).abs().max() < 0.05


def test_every_module_the_readme_names_is_there() -> None:
    package = README.parent / "src" / "wm_torchkit"
    rows = re.findall(r"^\| (`.*?) \|", README.read_text(), re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    there = {path.stem for path in package.glob("*.py")} | {"training"}
    assert len(names) >= 12
    assert set(names) <= there
