"""It learns: minutes long, so run it with `-m slow`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from wm_agent_diamond.agent import DiamondAgent
from wm_agent_diamond.plugin import DIAMOND
from wm_agent_diamond.policy import DiamondPolicy
from wm_agent_diamond.presets import preset
from wm_agent_diamond.trainer import DiamondTrainer
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.rollout import rollout


def mean_return(agent: DiamondAgent, episodes: int) -> float:
    size = agent.config.denoiser.image_size
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": (size, size)})
    with closing(make_vector(spec, 8)) as lanes:
        policy = DiamondPolicy(agent, lanes.single_observation_space, lanes.single_action_space)
        returns = [each.episode_return for each in rollout(policy, lanes, 7, range(episodes))]
    return sum(returns) / episodes


def test_the_bundled_agent_catches() -> None:
    assert DIAMOND.demo is not None
    path = Path(__file__).parent.parent / "src" / "wm_agent_diamond" / str(DIAMOND.demo.checkpoint)
    assert mean_return(DiamondAgent.from_pretrained(path), 50) >= 0.9


def test_fresh_weights_do_not() -> None:
    assert mean_return(DiamondAgent.from_config(preset("tiny"), action_size=3), 50) < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_tiny_learns_catch(tmp_path: Path, seed: int) -> None:
    trainer = DiamondTrainer("wm/Catch-v0", config=preset("tiny"), directory=tmp_path, seed=seed)
    assert mean_return(DiamondAgent.from_pretrained(trainer.train()), 100) >= 0.9
