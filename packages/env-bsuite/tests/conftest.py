from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _logs_are_let_go() -> Iterator[None]:
    """A test that fails with a recorded game open must not fail others."""
    from wm_env_bsuite import recording

    yield
    recording._open.clear()
