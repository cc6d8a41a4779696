"""One thread, and small agents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import IRISConfig

torch.set_num_threads(1)
sys.path.append(str(Path(__file__).parent))

from iris_configs import SMALL  # noqa: E402


@pytest.fixture
def small_config() -> IRISConfig:
    return SMALL


@pytest.fixture
def agent() -> IRISAgent:
    """16x16 frames of 16 tokens out of 12, 3 actions. Its weights are wider than fresh ones, so outputs differ."""
    agent = IRISAgent.from_config(SMALL, action_size=3)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=generator))
    return agent


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
