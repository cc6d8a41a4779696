"""What `--dry-run` says of the weights of a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wm_core.cli.options import print_plan
from wm_core.plan import Request
from wm_core.specs import Suite, TrainBudget
from wm_core.suites.planning import plan_suite


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "without weights"),
        ({"partial": True}, "no checkpoint"),
        ({"train": TrainBudget(steps=7)}, "trained first: {'steps': 7}"),
        ({"measures": "learning"}, "acts without training"),
        ({"measures": "learning", "train": TrainBudget()}, "learns from fresh weights: until all its episodes"),
        ({"measures": "learning", "train": TrainBudget(steps=7)}, "learns from fresh weights: {'steps': 7}"),
    ],
)
def test_the_plan_says_where_the_weights_come_from(
    small: Suite, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    spec = plan_suite(small, Request(agent="random")).model_copy(update=changes)
    print_plan([spec], Path("out"), as_json=False)
    lines = [line for line in capsys.readouterr().out.splitlines() if "Catch-v0" in line]
    assert [said in line for line in lines] == [True]
