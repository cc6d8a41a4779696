"""The parts that learn, and one update of each. Section 2.1, Appendices C to F."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wm_agent_genie.acting import STUDENTS, ActingGenie, Student
from wm_agent_genie.augmentation import hide_places
from wm_agent_genie.config_training import ComponentSchedule
from wm_agent_genie.data.reader import Clips, VideoDataset
from wm_torchkit.nan_guard import NonFiniteError, check_finite
from wm_torchkit.seeding import RandomStreams

Loss = tuple[Tensor, Mapping[str, Tensor]]


class LearningComponent(ABC):
    """A network with its optimizer. `update` draws a batch of clips of `length` frames and takes one step."""

    name: str

    def __init__(
        self,
        acting: ActingGenie,
        network: nn.Module,
        video: VideoDataset,
        schedule: ComponentSchedule,
        random: RandomStreams,
        length: int,
    ) -> None:
        self._acting, self._agent, self._network = acting, acting.agent, network
        self._video, self._schedule, self._length = video, schedule, length
        self._rng: np.random.Generator = random.numpy_generator(f"clips for the {self.name}")
        self._named = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
        self._steps = 0
        self._optimizer = torch.optim.AdamW(
            [p for _, p in self._named],
            schedule.learning_rate,
            betas=schedule.adam_betas,
            weight_decay=schedule.weight_decay,
        )

    def learning_rate(self, step: int) -> float:
        """Of step 0, 1, ...: a linear warm-up, then a cosine to the final one."""
        s = self._schedule
        if step < s.warmup_steps:
            return s.learning_rate * (step + 1) / s.warmup_steps
        share = min(1.0, (step - s.warmup_steps) / max(1, s.total_steps - s.warmup_steps))
        return s.final_learning_rate + (s.learning_rate - s.final_learning_rate) * (1 + math.cos(math.pi * share)) / 2

    def update(self) -> dict[str, Tensor]:
        """One optimizer step. Raises `NonFiniteError`, naming the tensor, and then leaves the weights as they were."""
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate(self._steps)
        self._optimizer.zero_grad(set_to_none=True)
        self._network.train()
        with self._agent.precision():
            loss, metrics = self._loss()
        loss.backward()  # type: ignore[no-untyped-call]
        self._network.eval()
        norm = nn.utils.clip_grad_norm_([p for _, p in self._named], self._schedule.max_grad_norm)
        if not bool(torch.isfinite(loss) & torch.isfinite(norm)):
            check_finite(f"the loss of the {self.name}", [("loss", loss)])
            check_finite(f"a gradient of the {self.name}", [(n, p.grad) for n, p in self._named if p.grad is not None])
            raise NonFiniteError(f"the gradient norm of the {self.name} overflowed to {float(norm)}; lower its rate")
        self._optimizer.step()
        self._steps += 1
        return {"loss": loss.detach(), **metrics, "gradient_norm": norm}

    def state_dict(self) -> dict[str, Any]:
        """Optimizer and steps taken."""
        return {"optimizer": self._optimizer.state_dict(), "steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put them back."""
        self._optimizer.load_state_dict(state["optimizer"])
        self._steps = state["steps"]

    @abstractmethod
    def _loss(self) -> Loss: ...

    def _clips(self) -> Clips:
        return self._video.sample(self._rng, self._schedule.batch_size, self._length)

    def _frames(self) -> Tensor:
        return self._agent.tensor(self._clips().frames)


class TokenizerLearning(LearningComponent):
    """The VQ-VAE objective."""

    name = "tokenizer"

    def _loss(self) -> Loss:
        return self._agent.tokenizer.loss(self._frames())


class LatentActionLearning(LearningComponent):
    """The next frame through a latent action."""

    name = "latent action model"

    def _loss(self) -> Loss:
        frames = self._frames()
        seen = hide_places(frames, self._rng) if self._agent.config.training.hide_places else None
        return self._agent.latent_action_model.loss(frames, seen=seen)


class DynamicsLearning(LearningComponent):
    """Masked tokens, given latent actions."""

    name = "dynamics model"

    def _loss(self) -> Loss:
        return self._agent.dynamics.loss(*self._agent.dynamics_inputs(self._frames()))


class CloningComponent(LearningComponent):
    """Behaviour cloning of one of `STUDENTS`: all with the same network, video and number of steps."""

    def __init__(
        self,
        student: Student,
        acting: ActingGenie,
        video: VideoDataset,
        schedule: ComponentSchedule,
        random: RandomStreams,
    ) -> None:
        self.student, self.name = student, f"policy of {student}"
        self._context = acting.agent.config.policy.context
        super().__init__(acting, acting.policy_of(student), video, schedule, random, self._context + 1)

    def update(self) -> dict[str, Tensor]:
        """One step, and counted."""
        metrics = super().update()
        self._acting.cloned[STUDENTS.index(self.student)] += 1
        return metrics

    def _loss(self) -> Loss:
        """Cross-entropy of the actions after each of `context` frames, the earlier ones being known."""
        clips = self._clips()
        frames = self._agent.tensor(clips.frames)
        labels = self._labels(clips, frames)
        logits = self._network(frames[:, :-1], labels[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        accuracy = (logits.detach().argmax(-1) == labels).float().mean()
        return loss, {"accuracy": accuracy}

    def _labels(self, clips: Clips, frames: Tensor) -> Tensor:
        """int64 (B, context)"""
        if self.student == "true_actions":
            assert clips.actions is not None
            return torch.from_numpy(clips.actions).to(frames.device)
        if self.student == "shuffled":
            frames = self._frames()  # of other clips: as often used, and telling nothing of these
        return self._agent.latent_action_model.infer(frames)
