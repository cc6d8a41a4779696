"""What the core's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wm_core import registry

FAULTY = Path(__file__).parent / "faulty.py"


@pytest.fixture
def faulty() -> Iterator[str]:
    """'path/to/faulty.py', whose plugins are forgotten after the test."""
    before = dict(registry._registered)
    yield str(FAULTY)
    registry._registered.clear()
    registry._registered.update(before)
    registry.load_backend.cache_clear()
