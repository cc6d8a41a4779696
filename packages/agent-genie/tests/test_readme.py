"""The first page does what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from genie_training import trainer

from wm_agent_genie.presets import TINY
from wm_agent_genie.settings import with_overrides

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_load_and_play_gives_the_frames_of_a_dream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(trainer(tmp_path / "training").train(), tmp_path / "catch.safetensors")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(EXAMPLES[0], names)
    frames = names["frames"]
    assert isinstance(frames, list)
    assert len(frames) == 9
    assert all(frame.shape == (10, 10, 3) and frame.dtype == np.uint8 for frame in frames)


def test_the_example_is_ten_lines() -> None:
    assert len([line for line in EXAMPLES[0].splitlines() if line.strip()]) <= 10


def test_the_settings_it_names_exist() -> None:
    named = re.findall(r"--set ((?:training|compute)\.[a-z_.]+)=(\w+)", README.read_text())
    assert len(named) >= 4
    with_overrides(TINY, {name: int(value) if value.isdigit() else value for name, value in named})
