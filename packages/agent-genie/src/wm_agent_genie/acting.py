"""Genie with what lets it act in an environment, and with the controls its score is read against.

What a checkpoint holds. The score of `policy` through `latent_map` says what latent actions are worth only beside
those of the same network, cloned from the same video, with true actions and with latent actions in disorder.
"""

from __future__ import annotations

from typing import Literal, Self

import torch
from torch import Tensor, nn

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.config import GenieConfig
from wm_agent_genie.latent_map import LatentMap
from wm_agent_genie.measures import MEASURES, UNMEASURED
from wm_agent_genie.policy import GeniePolicy
from wm_core.errors import CheckpointError

Student = Literal["genie", "true_actions", "shuffled"]
STUDENTS: tuple[Student, ...] = ("genie", "true_actions", "shuffled")


class ActingGenie(nn.Module):
    """`agent` and the map from its latent actions to `real_actions`; and the two control policies."""

    cloned: Tensor
    """int64 (3,): updates that each of `STUDENTS` has had."""
    measured: Tensor
    """float64: `MEASURES` in that order, -1e9 where not measured, as last taken on held-out video."""

    def __init__(self, config: GenieConfig, real_actions: int) -> None:
        super().__init__()
        self.agent = GenieAgent(config)
        self.latent_map = LatentMap(config.latent_actions.actions, real_actions)
        self.true_action_policy = GeniePolicy.of(config, real_actions)
        self.shuffled_policy = GeniePolicy.of(config, config.latent_actions.actions)
        self.register_buffer("cloned", torch.zeros(len(STUDENTS), dtype=torch.long))
        self.register_buffer("measured", torch.full((len(MEASURES),), UNMEASURED, dtype=torch.float64))

    @classmethod
    def from_config(
        cls, config: GenieConfig, *, real_actions: int, device: str | torch.device = "cpu", seed: int = 0
    ) -> Self:
        """A fresh one in evaluation mode; its weights depend on `seed` alone."""
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            acting = cls(config, real_actions)
        return acting.to(device).eval()

    @property
    def real_actions(self) -> int:
        """Of the environment."""
        return self.latent_map.counts.shape[1]

    def policy_of(self, student: Student) -> GeniePolicy:
        """The network that a student plays with."""
        return {
            "genie": self.agent.policy,
            "true_actions": self.true_action_policy,
            "shuffled": self.shuffled_policy,
        }[student]

    def require_able(self, source: object) -> None:
        """`CheckpointError` when it has no policy or no map: it would act at random."""
        how = (
            "train on with expert video and labels: `wmbench train -a genie -g GAME --set training.expert=DATASET`, to "
            "the end of the policy's schedule"
        )
        if not int(self.cloned[STUDENTS.index("genie")]):
            raise CheckpointError(f"{source} has a world model, but no policy, and cannot act; {how}")
        if not self.latent_map.labels:
            raise CheckpointError(f"{source} has no map from latent to real actions, and cannot act; {how}")
