"""One thread, and the helpers beside the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)
sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
