"""It learns Catch from video. The training itself is minutes long, so run it with `-m slow`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from wm_agent_genie.adapter import GenieAdapter
from wm_agent_genie.plugin import GENIE
from wm_agent_genie.presets import TINY
from wm_agent_genie.trainer import GenieTrainer
from wm_core import BenchmarkRunner
from wm_core.envs.resolve import resolve_env
from wm_core.protocols import AdapterContext

CATCH = resolve_env("wm/Catch-v0", overrides={"image_size": TINY.image_size})


def test_a_dream_of_the_bundled_agent_shows_what_real_actions_do() -> None:
    """The tokenizer's own error is 28 dB or less often; a paddle elsewhere would be 15 dB at most."""
    assert GENIE.demo is not None
    path = Path(__file__).parent.parent / "src" / "wm_agent_genie" / str(GENIE.demo.checkpoint)
    with closing(gymnasium.make("wm/Catch-v0", image_size=TINY.image_size)) as env:
        adapter = GenieAdapter(
            AdapterContext(env=CATCH, observation_space=env.observation_space, action_space=env.action_space)
        )
        adapter.load_checkpoint(path)
        actions = np.array([0, 0, 2, 1, 2, 2])
        for seed in range(4):
            first, _ = env.reset(seed=seed)
            truth = np.stack([env.step(action)[0] for action in actions.tolist()]) / 255
            dreamt = adapter.imagine(first[None], actions, len(actions), seed=0).frames / 255
            psnr = -10 * np.log10(((dreamt - truth) ** 2).mean(axis=(1, 2, 3)))
            assert psnr.min() > 20


@pytest.mark.slow
def test_latent_actions_from_video_alone_are_worth_about_as_much_as_true_ones(tmp_path: Path) -> None:
    path = GenieTrainer(CATCH, real_actions=3, config=TINY, directory=tmp_path / "training", seed=1).train()
    BenchmarkRunner(agent="genie", out_dir=tmp_path / "run").run(
        "wm/Catch-v0", seeds=[0], num_episodes=100, checkpoint=path, device="cpu"
    )
    game = json.loads((tmp_path / "run" / "genie.json").read_text())["games"][0]
    scores = {name: score["mean"] for name, score in game["scores"].items()}
    assert scores["genie"] >= 0.8
    assert scores["true_actions"] >= 0.98
    assert abs(scores["shuffled"] - scores["random"]) < 0.2
    world = game["world_model"]
    assert world["agreement"] > world["agreement_chance"] + 0.3
    assert world["delta_4_psnr"] > 3
    assert world["psnr_persistence"] < world["psnr"] <= world["psnr_tokenizer"] + 0.1
