"""The policy in the world model: what a real environment is to other agents. Section 3.4, Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from wm_agent_diamond.actor_critic import PolicyOutput
from wm_agent_diamond.dream import Dream, Start
from wm_agent_diamond.world_model import WorldModelState
from wm_torchkit.sampling import sample

if TYPE_CHECKING:
    from wm_agent_diamond.agent import DiamondAgent

DrawStarts = Callable[[int], Start]
"""How many, to that many beginnings."""


class Imagination:
    """B dreams that go on from call to call.

    The world model computes no gradient. The policy does, within a call: logits and values of a dream depend on its
    weights by way of the LSTM's state since the call began, the burn-in of a new beginning included.
    """

    def __init__(self, agent: DiamondAgent, generator: torch.Generator | None = None) -> None:
        self._agent = agent
        self._generator = generator
        self._world: WorldModelState | None = None
        self._memory = agent.actor_critic.initial_state(0)
        self._ages = torch.zeros(0, dtype=torch.long)

    def rollout(
        self, start_obs: Tensor, start_actions: Tensor, horizon: int, *, temperature: float | None = None
    ) -> Dream:
        """Dream H steps from contexts (B, L, 3, S, S) and (B, L). What follows an end is not `alive`."""
        self.begin(Start(start_obs, start_actions))
        return self._advance(horizon, None, temperature)

    def begin(self, start: Start) -> None:
        """Begin anew in all dreams."""
        with torch.no_grad(), self._agent.precision():
            self._world = self._agent.world_model.begin(start)
        self._memory = self._burnt_in(start.obs)
        self._ages = torch.zeros(len(start.obs), dtype=torch.long)

    def advance(self, steps: int, draw_starts: DrawStarts, *, temperature: float | None = None) -> Dream:
        """Dream on; a dream that ended, or is `imagination.horizon` steps long, begins anew where `draw_starts` says.

        Begin first, or load a state.
        """
        return self._advance(steps, draw_starts, temperature)

    def state_dict(self) -> dict[str, Any]:
        """Where the dreams are, to go on exactly; empty before `begin`."""
        if self._world is None:
            return {}
        return {**self._world._asdict(), "memory": self._memory.detach(), "ages": self._ages.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back there."""
        if not state:
            self._world = None
            return
        device = self._agent.device
        self._world = WorldModelState(*(state[name].to(device, copy=True) for name in WorldModelState._fields))
        self._memory, self._ages = state["memory"].to(device, copy=True), state["ages"].cpu().clone()

    @property
    def begun(self) -> bool:
        """Whether there are dreams to go on with."""
        return self._world is not None

    def _advance(self, steps: int, draw_starts: DrawStarts | None, temperature: float | None) -> Dream:
        config = self._agent.config.imagination
        temperature = config.temperature if temperature is None else temperature
        if draw_starts is not None:
            self._memory = self._memory.detach()
        alive = torch.ones(len(self._ages), dtype=torch.bool, device=self._agent.device)
        steps_taken: list[tuple[Tensor, ...]] = []
        bootstraps: list[Tensor] = []
        for t in range(steps):
            obs = self._now().obs[:, -1]
            policy = self._policy(obs)
            if len(bootstraps) < t:
                bootstraps.append(policy.values.detach())
            actions = sample(policy.logits, self._generator, temperature)
            with torch.no_grad(), self._agent.precision():
                self._world, rewards, ends = self._agent.world_model.step(self._now(), actions, self._generator)
            self._memory = policy.state
            self._ages += 1
            truncs = torch.zeros_like(ends)
            if draw_starts is not None:
                truncs = (self._ages >= config.horizon).to(ends.device)
                before = self._begin_some_anew(ends | truncs, draw_starts, learn=t + 1 < steps)
                bootstraps.extend([] if before is None else [before])
            steps_taken.append((obs, actions, rewards, ends, truncs, policy.logits, policy.values, alive))
            if draw_starts is None:
                alive = alive & ~ends
        if len(bootstraps) < steps:
            bootstraps.append(self._values_ahead())
        obs, actions, rewards, ends, truncs, logits, values, alive = (
            torch.stack(each, dim=1) for each in zip(*steps_taken, strict=True)
        )
        ahead = torch.stack(bootstraps, dim=1)
        return Dream(obs, actions, rewards, ends, truncs, logits, values, ahead, alive, self._now().obs[:, -1])

    def _policy(self, obs: Tensor) -> PolicyOutput:
        with self._agent.precision():
            output: PolicyOutput = self._agent.actor_critic(obs, self._memory)
        return output

    @torch.no_grad()
    def _values_ahead(self) -> Tensor:
        """(B,), of the frames the policy would see next."""
        return self._policy(self._now().obs[:, -1]).values

    def _begin_some_anew(self, over: Tensor, draw_starts: DrawStarts, *, learn: bool) -> Tensor | None:
        """New beginnings where a dream is `over` (B,); the values (B,) ahead of all dreams before it, if any is."""
        lanes = over.nonzero().squeeze(1)
        if len(lanes) == 0:
            return None
        values = self._values_ahead()
        start = draw_starts(len(lanes))
        with torch.no_grad(), self._agent.precision():
            self._world = self._now().replaced(lanes, self._agent.world_model.begin(start))
        with torch.set_grad_enabled(learn):
            self._memory = self._memory.index_copy(1, lanes, self._burnt_in(start.obs))
        self._ages[lanes.cpu()] = 0
        return values

    def _burnt_in(self, obs: Tensor) -> Tensor:
        """The policy's memory after all frames of a context (B, L, 3, S, S) but the last."""
        with self._agent.precision():
            return self._agent.actor_critic.burn_in(obs[:, :-1])

    def _now(self) -> WorldModelState:
        if self._world is None:
            raise ValueError("no dream has begun; call `begin` with frames to dream from")
        return self._world
