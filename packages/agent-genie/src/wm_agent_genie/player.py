"""Genie as the core plays it: a latent action of the policy, then a real one of the map. Section 3.3."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from wm_agent_genie.acting import ActingGenie, Student
from wm_agent_genie.observations import ObservationFrames, discrete_actions
from wm_core.errors import UsageError


class GeniePlayer:
    """Acts in n lanes (`wm_core.protocols.Acts`) as one of `STUDENTS`. The dynamics model is not used.

    Each lane is computed alone, so that an episode does not depend on what else is in the batch.
    """

    def __init__(
        self,
        acting: ActingGenie,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        student: Student = "genie",
    ) -> None:
        config = acting.agent.config
        count, self._first = discrete_actions(action_space)
        if count != acting.real_actions:
            raise UsageError(f"the environment has {count} actions, and the agent was made for {acting.real_actions}")
        self._acting, self._student, self._policy = acting, student, acting.policy_of(student)
        self._frames_of = ObservationFrames(observation_space, config.image_size, config.channels)
        self._context, self._temperature = config.policy.context, config.policy.temperature
        self._seen: list[list[NDArray[np.uint8]]] = []
        self._done: list[list[int]] = []
        self._rngs: list[np.random.Generator] = []
        self.decisions, self.fallbacks = 0, 0
        """Actions chosen, and how many of them at random because the map was empty there."""

    def reset(self, starts: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Forget the past of the lanes that start, and renew their generators."""
        if len(self._rngs) != len(starts):
            self._seen, self._done = [[] for _ in starts], [[] for _ in starts]
            self._rngs = [np.random.default_rng(0) for _ in starts]
        for lane in np.flatnonzero(starts).tolist():
            self._seen[lane], self._done[lane] = [], []
            self._rngs[lane] = np.random.default_rng(int(seeds[lane]))

    def act(self, observations: Any) -> NDArray[np.int64]:
        """An action a lane, numbered as the environment numbers them."""
        return np.array([self._act(lane, each) for lane, each in enumerate(observations)], np.int64) + self._first

    @torch.no_grad()
    def _act(self, lane: int, observation: NDArray[np.uint8]) -> int:
        seen, done, rng = self._seen[lane], self._done[lane], self._rngs[lane]
        seen.append(self._frames_of(observation).copy())
        del seen[: -self._context]
        del done[: max(0, len(done) - len(seen) + 1)]
        frames = self._acting.agent.tensor(np.stack(seen)).unsqueeze(0)
        previous = torch.tensor([done], dtype=torch.long, device=frames.device)
        logits = self._policy(frames, previous)[0, -1].double().cpu().numpy()
        if self._temperature > 0:
            logits = logits / self._temperature + rng.gumbel(size=logits.shape)
        chosen = int(logits.argmax())
        done.append(chosen)
        self.decisions += 1
        if self._student == "true_actions":
            return chosen
        action, fallback = self._acting.latent_map.draw(chosen, rng)
        self.fallbacks += fallback
        return action
