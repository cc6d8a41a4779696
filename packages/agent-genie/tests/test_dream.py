from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.maskgit import generate_frame

ACTIONS = [0, 2, 1, 1, 0, 2, 2]


@pytest.fixture
def prompt() -> NDArray[np.uint8]:
    """Two frames."""
    return np.random.default_rng(0).integers(0, 256, (2, 12, 8, 3), np.uint8)


@pytest.mark.parametrize("step", range(len(ACTIONS)))
def test_every_action_of_a_rollout_changes_what_follows_it_and_nothing_before(
    agent: GenieAgent, prompt: NDArray[np.uint8], step: int
) -> None:
    with torch.no_grad():
        agent.latent_action_model.quantizer.codebook.copy_(3 * torch.eye(3, 4))
    other = [*ACTIONS[:step], (ACTIONS[step] + 1) % 3, *ACTIONS[step + 1 :]]
    frames, changed = agent.imagine(prompt, ACTIONS), agent.imagine(prompt, other)
    assert np.array_equal(frames[:step], changed[:step])
    assert not np.array_equal(frames[step:], changed[step:])


def test_a_dream_is_what_passes_over_all_its_frames_give_also_once_it_forgets(
    agent: GenieAgent, prompt: NDArray[np.uint8]
) -> None:
    """Four frames of the five are looked back on; with a prompt of two, the third step drops the oldest."""
    played = agent.imagine(prompt, ACTIONS, seed=4)
    frames = agent.tensor(prompt)[None]
    tokens, codes = agent.tokenizer.encode(frames), agent.latent_action_model.infer(frames)
    generator = torch.Generator().manual_seed(4)
    for action, picture in zip(ACTIONS, played, strict=True):
        codes = torch.cat([codes, torch.tensor([[action]])], dim=1)
        embedded = agent.latent_action_model.embed(codes)
        frame = generate_frame(agent.dynamics, tokens, embedded, None, generator=generator)
        tokens = torch.cat([tokens, frame[:, None]], dim=1)
        expected = agent.tokenizer.decode(tokens)[0, -1].movedim(0, -1)
        assert np.abs(picture - 255 * expected.numpy()).max() < 0.51
        tokens, codes = tokens[:, -4:], codes[:, -3:]


def test_equal_seeds_dream_alike_and_others_differ(agent: GenieAgent, prompt: NDArray[np.uint8]) -> None:
    frames = agent.imagine(prompt, ACTIONS, seed=1)
    assert np.array_equal(frames, agent.imagine(prompt, ACTIONS, seed=1))
    assert not np.array_equal(frames, agent.imagine(prompt, ACTIONS, seed=2))


def test_a_session_gives_a_picture_for_an_action(agent: GenieAgent, prompt: NDArray[np.uint8]) -> None:
    session = agent.dream(prompt[0])
    picture = session.step(1)
    assert (picture.shape, picture.dtype, session.actions) == ((12, 8, 3), np.uint8, 3)


def test_of_a_long_prompt_the_newest_frames_count(agent: GenieAgent) -> None:
    long = np.random.default_rng(1).integers(0, 256, (9, 12, 8, 3), np.uint8)
    assert np.array_equal(agent.imagine(long, [0, 1]), agent.imagine(long[-4:], [0, 1]))


def test_batched_dreams_with_given_actions_are_those_dreamt_alone_at_temperature_zero(agent: GenieAgent) -> None:
    frames = torch.rand(3, 2, 3, 12, 8, generator=torch.Generator().manual_seed(0))
    codes = torch.tensor([[0], [1], [2]])
    together = agent.dream_batch(frames, codes, temperature=0.0).step(torch.tensor([2, 1, 0]))
    for lane, action in enumerate([2, 1, 0]):
        single = slice(lane, lane + 1)
        alone = agent.dream_batch(frames[single], codes[single], temperature=0.0).step(torch.tensor([action]))
        torch.testing.assert_close(together[single], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda agent, prompt: agent.dream(prompt).step(3), "latent action 3 is not in 0..2"),
        (lambda agent, prompt: agent.dream(prompt[:, :6]), "frames must be uint8"),
        (lambda agent, prompt: agent.dream(prompt / 255), "frames must be uint8"),
        (lambda agent, prompt: agent.imagine(prompt, []), "latent_actions is empty"),
        (lambda agent, prompt: agent.dream(prompt, steps=0), "at least one MaskGIT step"),
        (lambda agent, prompt: agent.dream(prompt, temperature=-1.0), "is negative"),
    ],
)
def test_what_makes_no_dream_is_refused(
    agent: GenieAgent, prompt: NDArray[np.uint8], wrong: Callable[[GenieAgent, NDArray[np.uint8]], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(agent, prompt)


def test_an_agent_in_training_mode_does_not_dream(agent: GenieAgent, prompt: NDArray[np.uint8]) -> None:
    with pytest.raises(RuntimeError, match=r"call \.eval\(\)"):
        agent.train().dream(prompt)


def test_fresh_weights_depend_on_the_seed_alone(agent: GenieAgent) -> None:
    weights = [GenieAgent.from_config(agent.config, seed=seed).dynamics.head.weight for seed in (0, 0, 1)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
