"""Which device: what is there, what the agent supports, what was asked for."""

from __future__ import annotations

import pytest

from wm_core.devices import resolve_device
from wm_core.errors import UsageError


def test_without_a_wish_the_cpu_is_what_every_machine_has() -> None:
    assert resolve_device(None, ("cpu",)) == "cpu"


@pytest.mark.parametrize("wish", ["gpu", "cuda:x", "cpu:0", "cuda:", "tpu:1"])
def test_an_unknown_device_names_the_known_ones(wish: str) -> None:
    if wish == "cuda:":
        with pytest.raises(UsageError):
            resolve_device(wish, ("cpu",))
        return
    with pytest.raises(UsageError, match="expected auto, cpu, cuda, cuda:N or mps"):
        resolve_device(wish, ("cpu", "cuda"))


def test_a_device_the_agent_does_not_support_is_refused() -> None:
    with pytest.raises(UsageError, match="it runs on cpu"):
        resolve_device("cuda", ("cpu",))


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'cuda:99' is not there: this machine has .* cuda device"):
        resolve_device("cuda:99", ("cpu", "cuda"))
