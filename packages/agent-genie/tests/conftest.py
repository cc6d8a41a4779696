"""One thread, and small agents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

torch.set_num_threads(1)
sys.path.append(str(Path(__file__).parent))

from genie_configs import SMALL, widen  # noqa: E402

from wm_agent_genie.agent import GenieAgent  # noqa: E402
from wm_agent_genie.config import GenieConfig  # noqa: E402


@pytest.fixture
def small_config() -> GenieConfig:
    return SMALL


@pytest.fixture
def agent() -> GenieAgent:
    """12x8 RGB frames of 6 tokens out of 11, 3 latent actions, 5 frames.

    Its weights are wide and its codebooks lie among the vectors of random frames, so outputs differ.
    """
    agent = GenieAgent.from_config(SMALL)
    widen(agent)
    generator = torch.Generator().manual_seed(3)
    frames = torch.rand(16, 5, 3, 12, 8, generator=generator)
    agent.train()
    with torch.no_grad():
        agent.tokenizer.loss(frames, generator)
        agent.latent_action_model.loss(frames, generator)
    return agent.eval()


@pytest.fixture
def clips() -> Tensor:
    """(2, 5, 3, 12, 8)"""
    return torch.rand(2, 5, 3, 12, 8, generator=torch.Generator().manual_seed(7))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
