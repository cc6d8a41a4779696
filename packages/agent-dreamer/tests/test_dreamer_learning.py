"""It learns: minutes long, so run it with `-m slow`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import wm_agent_dreamer
from wm_agent_dreamer import checkpoint
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.layouts import ActionLayout, ObservationLayout
from wm_agent_dreamer.plugin import MANIFESTS
from wm_agent_dreamer.policy import DreamerPolicy
from wm_agent_dreamer.presets import image_size, preset
from wm_agent_dreamer.trainer import DreamerTrainer
from wm_core.envs.resolve import resolve_env
from wm_core.envs.vector import make_vector
from wm_core.rollout import rollout

WITH_DEMO = [name for name, manifest in MANIFESTS.items() if manifest.demo and manifest.demo.checkpoint]


def mean_return(agent: DreamerAgent, episodes: int) -> float:
    spec = resolve_env("wm/Catch-v0", overrides={"image_size": image_size("tiny")})
    with closing(make_vector(spec, 8)) as lanes:
        policy = DreamerPolicy(agent, lanes.single_observation_space, lanes.single_action_space)
        returns = [each.episode_return for each in rollout(policy, lanes, 7, range(episodes))]
    return sum(returns) / episodes


@pytest.mark.parametrize("name", WITH_DEMO)
def test_the_bundled_agent_catches(name: str) -> None:
    demo = MANIFESTS[name].demo
    assert demo is not None
    path = Path(str(wm_agent_dreamer.__file__)).parent / str(demo.checkpoint)
    assert mean_return(checkpoint.load(path, name), 50) >= 0.9


@pytest.mark.parametrize("name", MANIFESTS)
def test_fresh_weights_do_not(name: str) -> None:
    height, width = image_size("tiny")
    agent = DreamerAgent.from_config(
        preset(name, "tiny"),
        observation=ObservationLayout(image=(3, height, width)),
        action=ActionLayout(kind="discrete", size=3),
    )
    assert mean_return(agent.eval(), 50) < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", WITH_DEMO)
def test_tiny_learns_catch(tmp_path: Path, name: str, seed: int) -> None:
    trainer = DreamerTrainer(
        "wm/Catch-v0",
        agent=name,
        config=preset(name, "tiny"),
        directory=tmp_path,
        seed=seed,
        image_size=image_size("tiny"),
    )
    assert mean_return(checkpoint.load(trainer.train()), 100) >= 0.9
