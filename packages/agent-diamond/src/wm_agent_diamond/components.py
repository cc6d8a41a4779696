"""The three components and one update of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from wm_agent_diamond.actor_critic_loss import actor_critic_loss
from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.config_training import ComponentSchedule
from wm_agent_diamond.dream import Start
from wm_agent_diamond.imagination import Imagination
from wm_agent_diamond.replay import DiamondReplayBuffer
from wm_torchkit.nan_guard import NonFiniteError, check_finite

Metrics = dict[str, Tensor]
Part = tuple[Tensor, Mapping[str, Tensor]]
"""The loss of a part of a batch, and its metrics."""


class LearningComponent(ABC):
    """A network with its optimizer. `update` draws a batch and takes one step.

    With `micro_batch_size`, gradients and metrics are the means over parts of that size. Where sequences are padded,
    each part weighs alike, whatever it holds. What is drawn at random comes from `generator`.
    """

    name: str

    def __init__(
        self,
        agent: DiamondAgent,
        network: nn.Module,
        replay: DiamondReplayBuffer,
        schedule: ComponentSchedule,
        generator: torch.Generator,
    ) -> None:
        self._agent = agent
        self._network = network
        self._replay = replay
        self._schedule = schedule
        self._generator = generator
        self._updates = 0
        self.optimizer = torch.optim.AdamW(
            parameter_groups(network, schedule.weight_decay), schedule.learning_rate, eps=schedule.adam_eps
        )

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
            for name, value in {"loss": loss.detach(), **metrics}.items():
                means[name] = means[name] + value * share if name in means else value * share
        self._network.eval()
        means["gradient_norm"] = self._step(means["loss"])
        return means

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer, and how many updates it took."""
        return {"optimizer": self.optimizer.state_dict(), "updates": self._updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put it back."""
        self.optimizer.load_state_dict(state["optimizer"])
        self._updates = state["updates"]

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
        risen = min(1.0, self._updates / max(self._schedule.warmup_steps, 1)) if self._schedule.warmup_steps else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self._schedule.learning_rate * risen
        self.optimizer.step()
        self._updates += 1
        return norm


class DenoiserLearning(LearningComponent):
    """Denoising of the next frame, and of the one after it given the model's own. Equation 7."""

    name = "denoiser"

    def __init__(
        self,
        agent: DiamondAgent,
        replay: DiamondReplayBuffer,
        schedule: ComponentSchedule,
        generator: torch.Generator,
        final_frames: bool,
    ) -> None:
        super().__init__(agent, agent.denoiser, replay, schedule, generator)
        self._final_frames = final_frames

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        length = self._agent.config.denoiser.context_frames + PREDICTIONS
        for _ in range(parts):
            batch = self._replay.segments(size, length, final_frames=self._final_frames)
            yield self._agent.denoiser.loss(batch.obs, batch.actions, batch.mask, self._generator)


class RewEndLearning(LearningComponent):
    """Cross-entropies of the reward's sign and of the end."""

    name = "reward/end model"

    def __init__(
        self,
        agent: DiamondAgent,
        replay: DiamondReplayBuffer,
        schedule: ComponentSchedule,
        generator: torch.Generator,
    ) -> None:
        super().__init__(agent, agent.rew_end_model, replay, schedule, generator)

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        config = self._agent.config
        length = config.imagination.horizon + config.denoiser.context_frames - 1
        for _ in range(parts):
            batch = self._replay.transitions(size, length)
            yield self._agent.rew_end_model.loss(batch.obs, batch.actions, batch.rewards, batch.ends, batch.mask)


class ActorCriticLearning(LearningComponent):
    """REINFORCE and value regression in dreams that begin at stored frames. Algorithm 1.

    With `imagination.after_end` of 'restart' dreams go on from update to update, and where they are is part of the
    state; each part of a batch has dreams of its own.
    """

    name = "actor-critic"

    def __init__(
        self,
        agent: DiamondAgent,
        replay: DiamondReplayBuffer,
        schedule: ComponentSchedule,
        generator: torch.Generator,
    ) -> None:
        super().__init__(agent, agent.actor_critic, replay, schedule, generator)
        parts = schedule.batch_size // (schedule.micro_batch_size or schedule.batch_size)
        self._dreams = [Imagination(agent, generator) for _ in range(parts)]

    def state_dict(self) -> dict[str, Any]:
        """With where the dreams are."""
        return {**super().state_dict(), "dreams": [each.state_dict() for each in self._dreams]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put it back."""
        super().load_state_dict(state)
        for dreams, saved in zip(self._dreams, state["dreams"], strict=True):
            dreams.load_state_dict(saved)

    def _losses(self, size: int, parts: int) -> Iterator[Part]:
        config = self._agent.config.imagination
        for dreams in self._dreams:
            if config.after_end == "stop":
                dream = dreams.rollout(*self._starts(size), config.horizon)
            else:
                if not dreams.begun:
                    dreams.begin(self._starts(size))
                dream = dreams.advance(config.horizon, self._starts)
            loss, metrics = actor_critic_loss(dream, config)
            yield loss, {**metrics, "rewarded_steps": (dream.rewards != 0).float().mean()}

    def _starts(self, count: int) -> Start:
        context = self._replay.segments(count, self._agent.config.denoiser.context_frames)
        return Start(context.obs, context.actions)


PREDICTIONS = 2
"""Frames that a batch of the denoiser predicts one after the other."""


def parameter_groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weights of linear, convolutional and recurrent layers decay; biases, embeddings and norms do not."""
    decayed: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for module in network.modules():
        layer = isinstance(module, nn.Linear | nn.Conv2d | nn.LSTM | nn.LSTMCell)
        for name, parameter in module.named_parameters(recurse=False):
            (decayed if layer and name.startswith("weight") else others).append(parameter)
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
