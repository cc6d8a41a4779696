"""Pictures show what the model says, and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch
from diamond_training import SHORT, Squares
from PIL import Image
from torch import Tensor

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.pictures import save_pictures
from wm_agent_diamond.replay import DiamondReplayBuffer

SCALE, FRAMES = 4, SHORT.imagination.horizon + 1
"""Frames of 16 pixels are shown at 64; a dream is its beginning and what was dreamed."""


@pytest.fixture
def agent() -> DiamondAgent:
    return DiamondAgent.from_config(SHORT, action_size=3)


@pytest.fixture
def replay() -> DiamondReplayBuffer:
    """One episode whose bright square walks from the middle to the right."""
    buffer = DiamondReplayBuffer(16, action_size=3, capacity=50, rng=np.random.default_rng(0))
    env = Squares((20, 20, 3))
    frame, over = env.reset(seed=0)[0], False
    buffer.begin_episode(frame[:16, :16])
    while not over:
        frame, reward, over, _, _ = env.step(7)
        buffer.add_step(2, reward, over, False, frame[:16, :16])
    return buffer


def test_a_film_has_every_step_of_the_dreams_side_by_side(
    tmp_path: Path, agent: DiamondAgent, replay: DiamondReplayBuffer
) -> None:
    save_pictures(tmp_path, 3, agent, replay)
    with Image.open(tmp_path / "epoch-000003-dreams.gif") as film:
        assert getattr(film, "n_frames", 1) == FRAMES
        assert film.height == 16 * SCALE
        assert film.width >= 4 * 16 * SCALE


def test_a_film_can_be_mp4(tmp_path: Path, agent: DiamondAgent, replay: DiamondReplayBuffer) -> None:
    save_pictures(tmp_path, 3, agent, replay, mp4=True)
    with av.open(str(tmp_path / "epoch-000003-dreams.mp4")) as film:
        assert len(list(film.decode(video=0))) == FRAMES
    assert not list(tmp_path.glob("*.gif"))


def test_dreams_begin_at_real_frames(tmp_path: Path, agent: DiamondAgent, replay: DiamondReplayBuffer) -> None:
    save_pictures(tmp_path, 3, agent, replay)
    grid = np.asarray(Image.open(tmp_path / "epoch-000003-dreams.png"))
    first = grid[: 16 * SCALE : SCALE, : 16 * SCALE : SCALE]
    seen = replay.episodes.sample(16, 1).frames.flatten(0, 1).numpy()
    assert any(np.array_equal(first, frame) for frame in seen)


def test_predictions_stand_below_the_real_next_frame(
    tmp_path: Path, agent: DiamondAgent, replay: DiamondReplayBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that says what comes next is told by two rows that are alike."""

    def right(obs: Tensor, actions: Tensor, chosen: Tensor | None, horizon: int, **_: Any) -> Any:
        if chosen is None:
            return dream(obs, actions, chosen, horizon)
        known = replay.episodes.sample(64, 1).frames.numpy()
        after = {before.tobytes(): following for before, following in known}
        now = ((obs[:, -1] + 1) * 127.5).round().byte().movedim(1, -1).numpy()
        frames = np.stack([after[frame.tobytes()] for frame in now])[:, None]
        return type("Dream", (), {"frames": torch.from_numpy(frames)})

    dream = agent.dream
    monkeypatch.setattr(agent, "dream", right)
    save_pictures(tmp_path, 3, agent, replay)
    grid = np.asarray(Image.open(tmp_path / "epoch-000003-predictions.png"))
    now, after, said = rows(grid)
    assert np.array_equal(after, said)
    assert not np.array_equal(now, after)


def rows(grid: np.ndarray) -> list[np.ndarray]:
    """Three rows of frames, with what parts them between."""
    gap = (grid.shape[0] - 3 * 16 * SCALE) // 2
    return [grid[start : start + 16 * SCALE] for start in (i * (16 * SCALE + gap) for i in range(3))]


def test_pictures_change_no_later_sample(tmp_path: Path, agent: DiamondAgent, replay: DiamondReplayBuffer) -> None:
    before = replay._rng.bit_generator.state
    save_pictures(tmp_path, 3, agent, replay)
    assert replay._rng.bit_generator.state == before
