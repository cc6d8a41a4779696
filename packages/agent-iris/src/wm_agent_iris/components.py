"""The three components and one update of each. Algorithm 1 and Table 5."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import ComponentSchedule
from wm_agent_iris.imagination import Context
from wm_agent_iris.replay import IRISReplayBuffer
from wm_agent_iris.tokenizer.lpips import LPIPSPerceptualLoss
from wm_agent_iris.world_model.world_model import WorldModelBatch
from wm_torchkit.nan_guard import NonFiniteError, check_finite

Metrics = dict[str, Tensor]
Part = tuple[Tensor, Mapping[str, Tensor]]
"""The loss of a part of a batch, and its metrics."""


class LearningComponent(ABC):
    """A network with its optimizer. `update` draws a batch and takes one step.

    With `micro_batch_size`, gradients and metrics are the means over parts of that size. Where sequences are padded,
    each part weighs alike, whatever it holds; an EMA codebook moves with each part.
    Whatever is drawn at random comes from torch's global generators, which the training loop lends.
    """

    name: str

    def __init__(
        self,
        agent: IRISAgent,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        replay: IRISReplayBuffer,
        schedule: ComponentSchedule,
    ) -> None:
        self._agent = agent
        self._network = network
        self.optimizer = optimizer
        self._replay = replay
        self._schedule = schedule

    def update(self) -> Metrics:
        """One optimizer step. Raises `NonFiniteError`, naming the tensor, and then leaves the weights as they were."""
        whole = self._schedule.batch_size
        size = self._schedule.micro_batch_size or whole
        share = size / whole
        means: Metrics = {}
        self.optimizer.zero_grad(set_to_none=True)
        self._network.train()
        for loss, metrics in self._losses(size, whole // size):
            (loss * share).backward()  # type: ignore[no-untyped-call]
            for name, value in metrics.items():
                means[name] = means[name] + value * share if name in means else value * share
        self._network.eval()
        means["gradient_norm"] = self._step(means["total"])
        return {"loss" if name == "total" else name: value for name, value in means.items()}

    @abstractmethod
    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        """Losses of `parts` batches of `size`, each drawn when the one before is done with."""

    def _step(self, loss: Tensor) -> Tensor:
        named = [(name, p) for name, p in self._network.named_parameters() if p.requires_grad]
        norm = nn.utils.clip_grad_norm_([parameter for _, parameter in named], self._schedule.max_grad_norm)
        if not bool(torch.isfinite(loss) & torch.isfinite(norm)):
            check_finite(f"the loss of the {self.name}", [("loss", loss)])
            gradients = [(name, parameter.grad) for name, parameter in named if parameter.grad is not None]
            check_finite(f"a gradient of the {self.name}", gradients)
            raise NonFiniteError(f"the gradient norm of the {self.name} overflowed to {float(norm)}; lower its rate")
        self.optimizer.step()
        return norm


class TokenizerLearning(LearningComponent):
    """Equation 1, on single frames."""

    name = "tokenizer"

    def __init__(
        self,
        agent: IRISAgent,
        replay: IRISReplayBuffer,
        schedule: ComponentSchedule,
        perceptual: LPIPSPerceptualLoss | None,
    ) -> None:
        super().__init__(agent, agent.tokenizer, _adam(agent.tokenizer, schedule), replay, schedule)
        self._perceptual = perceptual

    def update(self) -> Metrics:
        """One step, after which stored tokens and reconstructions count no more."""
        metrics = super().update()
        self._replay.tokenizer_changed()
        return metrics

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        for _ in range(parts):
            loss = self._agent.tokenizer_loss(self._replay.tokenizer_batch(size), self._perceptual)
            yield loss.total, loss.metrics()


class WorldModelLearning(LearningComponent):
    """Cross-entropies of what follows, on sequences of the transformer's whole length. Equations 2 to 4."""

    name = "world model"

    def __init__(self, agent: IRISAgent, replay: IRISReplayBuffer, schedule: ComponentSchedule) -> None:
        groups = agent.world_model.parameter_groups(schedule.weight_decay)
        optimizer = torch.optim.AdamW(groups, schedule.learning_rate, betas=schedule.adam_betas)
        super().__init__(agent, agent.world_model, optimizer, replay, schedule)

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        length = self._agent.config.world_model.timesteps
        for _ in range(parts):
            batch: WorldModelBatch = self._replay.world_model_batch(size, length)
            loss = self._agent.world_model_loss(batch)
            yield loss.total, loss.metrics()


class ActorCriticLearning(LearningComponent):
    """REINFORCE and value regression in dreams that begin at stored frames. Section 2.3."""

    name = "actor-critic"

    def __init__(self, agent: IRISAgent, replay: IRISReplayBuffer, schedule: ComponentSchedule) -> None:
        super().__init__(agent, agent.actor_critic, _adam(agent.actor_critic, schedule), replay, schedule)

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        burn_in = self._agent.config.imagination.burn_in
        for _ in range(parts):
            context: Context = self._replay.actor_critic_batch(size, burn_in)
            loss = self._agent.actor_critic_loss(context, None)
            yield loss.total, loss.metrics()


def _adam(network: nn.Module, schedule: ComponentSchedule) -> torch.optim.Optimizer:
    """Adam; with a weight decay, AdamW on the weights of linear layers."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if schedule.weight_decay == 0:
        return torch.optim.Adam(parameters, schedule.learning_rate, betas=schedule.adam_betas)
    decayed = [m.weight for m in network.modules() if isinstance(m, nn.Linear)]
    chosen = {id(weight) for weight in decayed}
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": schedule.weight_decay},
        {"params": [p for p in parameters if id(p) not in chosen], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, schedule.learning_rate, betas=schedule.adam_betas)
