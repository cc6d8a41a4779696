"""What the tests of suites share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wm_core import registry
from wm_core.specs import Suite

SMALL_SUITE = Path(__file__).parent / "small_suite.py"


@pytest.fixture
def plugin() -> Iterator[str]:
    """'path/to/small_suite.py', whose plugins are forgotten after the test."""
    before = dict(registry._registered)
    yield str(SMALL_SUITE)
    registry._registered.clear()
    registry._registered.update(before)


@pytest.fixture
def small(plugin: str) -> Suite:
    """The suite `small`; its agents are registered too."""
    for name in ("SMALL", "SCORED", "SCORED_BADLY", "NUMBERED", "PICKY"):
        registry.load_file(f"{plugin}:{name}")
    found: Suite = registry.manifest("suites", "small")
    return found


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """An empty directory for checkpoints."""
    directory = tmp_path / "weights"
    directory.mkdir()
    return directory
