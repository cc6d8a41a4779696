"""The first page does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wm_agent_dreamer
from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_agent_dreamer.presets import preset
from wm_torchkit.checkpoint import write_checkpoint

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_load_act_step_plays_an_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, observation = preset("dreamerv3", "tiny"), ObservationLayout(image=(3, 32, 32))
    action = ActionLayout(kind="discrete", size=3)
    agent = DreamerAgent.from_config(config, observation=observation, action=action)
    header = checkpoint.header("dreamerv3", config, observation, action)
    write_checkpoint(tmp_path / "dreamerv3.safetensors", header, agent.state_dict())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(EXAMPLES[0], names)
    assert names["done"]
    assert names["reward"] in (-1.0, 1.0)


def test_the_example_is_ten_lines() -> None:
    lines = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_the_training_example_names_what_there_is() -> None:
    assert "from wm_agent_dreamer import DreamerTrainer, preset" in EXAMPLES[1]
    assert {"DreamerTrainer", "preset"} <= set(wm_agent_dreamer.__all__)
