"""A network compiled by torch.compile; where that fails it goes on as it is, which is said once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._dynamo.exc import TorchDynamoException
from torch._inductor.exc import InductorError

log = logging.getLogger(__name__)


class CompiledNetwork:
    """Calls `network`, by way of torch.compile if `compiled`, once for each shape of its inputs.

    Not a module, so the network's parameters keep their names.
    """

    def __init__(self, network: nn.Module, compiled: bool) -> None:
        self._network = network
        self._compiled: Callable[..., Any] | None = torch.compile(network, dynamic=False) if compiled else None

    def __call__(self, *inputs: Any) -> Tensor:
        """What the network makes of the inputs."""
        if self._compiled is not None:
            try:
                return cast(Tensor, self._compiled(*inputs))
            except (TorchDynamoException, InductorError) as error:
                self._compiled = None
                reason = str(error).strip().split("\n")[0]
                log.warning("dreams go on uncompiled, torch.compile failed: %s", reason)
        return cast(Tensor, self._network(*inputs))
