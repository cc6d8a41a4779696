from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _python_hears_ctrl_c() -> Iterator[None]:
    """A job started in the background ignores SIGINT, and so would the trainings of these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
