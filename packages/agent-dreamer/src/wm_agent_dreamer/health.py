"""What goes wrong in silence: a policy that is certain too early or never learns, latents that say nothing."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

from wm_agent_dreamer.layouts import ActionLayout

_LOG = logging.getLogger(__name__)
_PATIENCE = 3
"""Epochs of a uniform policy that are no trouble: it starts as one."""


class HealthWatch:
    """Warns in the log, once for each trouble until it is over."""

    def __init__(self, action: ActionLayout) -> None:
        self._most_entropy = math.log(action.size) if action.kind == "discrete" else 0.0
        self._uniform_epochs = 0
        self._warned: set[str] = set()

    def look(self, epoch: int, metrics: Mapping[str, float]) -> list[str]:
        """Warnings new in that epoch, given its mean metrics by `part/name`; they are logged too."""
        troubles = self._of_entropy(metrics.get("training/policy_entropy"))
        new = [f"epoch {epoch}: {text}" for name, text in troubles.items() if name not in self._warned]
        self._warned = set(troubles)
        for text in new:
            _LOG.warning(text)
        return new

    def _of_entropy(self, entropy: float | None) -> dict[str, str]:
        if entropy is None or self._most_entropy == 0:
            return {}
        share = entropy / self._most_entropy
        self._uniform_epochs = self._uniform_epochs + 1 if share > 0.999 else 0
        if share < 0.02:
            return {
                "certain": f"the policy's entropy has collapsed to {entropy:.4f} nats: it no longer explores. Where "
                "its return is low, raise actor.entropy and train anew"
            }
        if self._uniform_epochs > _PATIENCE:
            return {
                "uniform": f"the policy's entropy has stayed flat at {entropy:.4f} nats, that of chance, for "
                f"{self._uniform_epochs} epochs: it learns nothing. Look at the imagined rewards, and lower "
                "actor.entropy if they are not all alike"
            }
        return {}
