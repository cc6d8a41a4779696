"""The first page does what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import wm_agent_diamond

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_load_act_step_plays_an_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(Path(wm_agent_diamond.__file__).parent / "demo" / "catch.safetensors", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(EXAMPLES[0], names)
    assert names["done"]
    assert names["reward"] in (-1.0, 1.0)


def test_the_example_is_ten_lines() -> None:
    assert len([line for line in EXAMPLES[0].splitlines() if line.strip()]) <= 11


def test_what_the_examples_import_is_there() -> None:
    for example in EXAMPLES:
        for names in re.findall(r"from wm_agent_diamond import (.*)", example):
            assert {name.strip() for name in names.split(",")} <= set(wm_agent_diamond.__all__)
