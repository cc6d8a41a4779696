"""A small training with everything in it: `python tiny_training.py DIRECTORY` prints its digest."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

from wm_torchkit.checkpoint import CheckpointHeader
from wm_torchkit.ema import ExponentialMovingAverage
from wm_torchkit.env_state import ReplayableEnv
from wm_torchkit.frames import to_network
from wm_torchkit.nan_guard import guarded_update
from wm_torchkit.replay import EpisodeReplay
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.loop import TrainingLoop
from wm_torchkit.training.schedule import Component, Metrics, Periodic, Phase, Schedule

EPOCHS = 14


class Drift(gymnasium.Env[Any, Any]):
    """A bright pixel, pushed and blown about on 4x4; ends at a border, or is cut after 12 steps."""

    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Box(0, 255, (4, 4, 1), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.age = 7 + int(self.np_random.integers(2)), 0
        return self._image(), {}

    def step(self, action: int) -> Any:
        self.place += int(action) - 1 + int(self.np_random.integers(-1, 2))
        self.age += 1
        ends = not 0 < self.place < 15
        self.place = min(max(self.place, 0), 15)
        return self._image(), float(self.place == 15), ends, self.age == 12, {}

    def _image(self) -> np.ndarray[Any, Any]:
        image = np.zeros(16, np.uint8)
        image[self.place] = 255
        return image.reshape(4, 4, 1)


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(16, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 16))
        self.value = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))


def train(
    directory: Path,
    mapped: bool = False,
    epochs: int = EPOCHS,
    spoil: Callable[[int], None] = lambda update: None,
    **options: Any,
) -> tuple[Path, Agent, TrainingLoop]:
    random = RandomStreams(11)
    with random.as_global("weights"):
        agent = Agent()
    slow = ExponentialMovingAverage(agent.value, 0.9)
    replay = EpisodeReplay(
        (4, 4, 1),
        90,
        random.numpy_generator("replay"),
        num_actions=3,
        directory=directory / "replay",
        mapped=mapped,
    )
    env = ReplayableEnv(Drift(), random.seed("env"))
    actions = random.numpy_generator("actions")
    model_optimizer = torch.optim.AdamW(agent.model.parameters(), 1e-2)
    value_optimizer = torch.optim.Adam(agent.value.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(model_optimizer, lambda step: min(1.0, (step + 1) / 50))
    updates = 0

    def collect() -> Metrics:
        if env.episode_over:
            replay.begin_episode(env.reset()[0])
        action = int(actions.integers(3))
        frame, reward, terminated, truncated, _ = env.step(action)
        replay.add_step(action, reward, terminated, truncated, frame)
        return {"reward": reward}

    def update_model() -> Metrics:
        nonlocal updates
        updates += 1
        spoil(updates)
        batch = replay.sample(8, 2)
        seen, then = (to_network(frames[batch.mask]) for frames in (batch.observations, batch.next_observations))
        loss = (agent.model(seen) - then.flatten(1)).square().mean()
        norm = guarded_update(loss, model_optimizer, agent.model.named_parameters(), 1.0, "the model")
        schedule.step()
        return {"loss": loss, "norm": norm}

    def update_value() -> Metrics:
        batch = replay.sample_stream(4, 3)
        target = slow.module(to_network(batch.frames[:, 2]))
        loss = (agent.value(to_network(batch.frames[:, 1])) - batch.rewards[:, 2:] - 0.9 * target).square().mean()
        guarded_update(loss, value_optimizer, agent.value.named_parameters(), 1.0, "the value")
        slow.update()
        return {"loss": loss}

    def evaluate(epoch: int) -> Metrics:
        return {"noise": torch.rand(()), "epoch": float(epoch)}

    loop = TrainingLoop(
        directory=directory,
        header=CheckpointHeader(
            agent="tiny",
            agent_format="tiny/1",
            config={"epochs": epochs, "model": {"width": 16}},
            env={"id": "Drift"},
        ),
        model=agent,
        state={
            "slow": slow,
            "replay": replay,
            "env": env,
            "model_optimizer": model_optimizer,
            "value_optimizer": value_optimizer,
            "schedule": schedule,
        },
        random=random,
        schedule=Schedule(
            epochs,
            [
                Component("collect", collect, Phase(12, stop_after=12), env_steps=1),
                Component("model", update_model, Phase(6)),
                Component("value", update_value, Phase(4, start_after=3)),
            ],
            [Periodic("evaluation", 5, evaluate)],
        ),
        checkpoint_every=2,
        may_change=frozenset({"epochs"}),
        **options,
    )
    return loop.run(), agent, loop


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(digest(train(Path(sys.argv[1]))[0]))
