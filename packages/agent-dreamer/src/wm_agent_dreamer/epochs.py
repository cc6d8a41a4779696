"""Which epoch holds which steps of the environments, and where the updates before the first of them go."""

from __future__ import annotations

import math

from wm_agent_dreamer.config_training import TrainingConfig
from wm_core.errors import UsageError


class Epochs:
    """Counts rounds: a round is one step of each of `num_envs` environments. Epochs count from 1."""

    def __init__(self, config: TrainingConfig) -> None:
        self._config = config
        self._rounds = config.env_steps // config.num_envs
        self._prefill = math.ceil(config.prefill_steps / config.num_envs)
        if self._rounds <= self._prefill:
            raise UsageError(
                f"nothing would be learned: the prefill takes {self._prefill * config.num_envs} of "
                f"{config.env_steps} environment steps; raise --steps, or lower training.prefill_steps"
            )
        if self._prefill + 1 < config.sequence_length:
            raise UsageError(
                f"the prefill leaves {self._prefill + 1} records in each of {config.num_envs} environments, and a "
                f"sequence has {config.sequence_length}; raise training.prefill_steps to "
                f"{(config.sequence_length - 1) * config.num_envs}, or lower training.sequence_length"
            )

    @property
    def count(self) -> int:
        """Epochs in all."""
        return math.ceil(self._config.env_steps / self._config.env_steps_per_epoch)

    def prefill_rounds(self, epoch: int) -> int:
        """Uniform rounds in that epoch."""
        return min(self._until(epoch), self._prefill) - min(self._until(epoch - 1), self._prefill)

    def rounds(self, epoch: int) -> int:
        """Rounds of the policy in that epoch."""
        return self._until(epoch) - self._until(epoch - 1) - self.prefill_rounds(epoch)

    def pretraining_updates(self, epoch: int) -> int:
        """Updates in that epoch, before the policy's first round."""
        first = self._until(epoch - 1) <= self._prefill < self._until(epoch)
        return self._config.pretrain_updates if first else 0

    def _until(self, epoch: int) -> int:
        """Rounds up to the end of that epoch."""
        return min(epoch * self._config.env_steps_per_epoch // self._config.num_envs, self._rounds)
