"""What goes wrong in silence: a policy that is certain too early or never learns, a dream that pays nothing."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

_LOG = logging.getLogger(__name__)


class HealthWatch:
    """Warns in the log, once for each trouble until it is over."""

    def __init__(self, action_size: int) -> None:
        self._most_entropy = math.log(action_size)
        self._patience = 2
        """Epochs of a uniform policy that are no trouble: it starts as one."""
        self._uniform_epochs = 0
        self._warned: set[str] = set()

    def look(self, epoch: int, metrics: Mapping[str, float]) -> list[str]:
        """Warnings new in that epoch, given its mean metrics by `component/name`; they are logged too."""
        troubles = self._of_entropy(metrics.get("actor_critic/entropy"))
        if metrics.get("actor_critic/rewarded_steps") == 0:
            troubles["still"] = (
                "no dream of this epoch brought a reward: the policy has nothing to learn from. Look at the "
                "pictures of dreams, and collect more (training.collection.initial_steps) if no real episode brings one"
            )
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
                "its return is low, raise imagination.entropy_weight and train anew"
            }
        if self._uniform_epochs > self._patience:
            return {
                "uniform": f"the policy's entropy has stayed flat at {entropy:.4f} nats, that of chance, for "
                f"{self._uniform_epochs} epochs: it learns nothing. Look at the imagined rewards, and lower "
                "imagination.entropy_weight if they are not all alike"
            }
        return {}
