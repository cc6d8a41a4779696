from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.metrics.codes import collapse_warning, entropy, mutual_information, perplexity
from wm_agent_genie.metrics.images import PSNR_LIMIT, psnr, ssim
from wm_agent_genie.metrics.world_model import evaluate_world_model


def test_psnr_is_each_pictures_and_not_the_pooled_errors() -> None:
    """Errors of 0.1 and 0.001 everywhere are 20 and 60 dB: 40 on average, where the pooled error has 23."""
    target = torch.full((2, 3, 8, 8), 0.5)
    predicted = target + torch.tensor([0.1, 0.001]).reshape(2, 1, 1, 1)
    torch.testing.assert_close(psnr(predicted, target), torch.tensor([20.0, 60.0]), atol=1e-2, rtol=0)


def test_equal_pictures_have_the_limit() -> None:
    assert psnr(torch.ones(1, 3, 8, 8), torch.ones(1, 3, 8, 8)).tolist() == [PSNR_LIMIT]


def test_ssim_of_flat_pictures_is_its_luminance_term() -> None:
    """Wang et al. (2004), equation 6: (2ab + C1) / (a^2 + b^2 + C1), C1 = 0.01^2, contrast and structure being 1."""
    a, b = 0.2, 0.6
    found = ssim(torch.full((2, 1, 3, 16, 16), a), torch.full((2, 1, 3, 16, 16), b))
    expected = (2 * a * b + 1e-4) / (a**2 + b**2 + 1e-4)
    torch.testing.assert_close(found, torch.full((2, 1), expected), atol=1e-4, rtol=0)


def test_pictures_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="of one shape"):
        psnr(torch.zeros(1, 3, 8, 8), torch.zeros(2, 3, 8, 8))
    with pytest.raises(ValueError, match="at least 6x6"):
        ssim(torch.zeros(1, 3, 5, 8), torch.zeros(1, 3, 5, 8))


def test_perplexity_is_the_number_of_codes_used_alike() -> None:
    assert float(perplexity(torch.tensor([[0, 1], [2, 3]]), 8)) == pytest.approx(4)
    assert float(perplexity(torch.tensor([5, 5, 5]), 8)) == pytest.approx(1)


def test_mutual_information_is_the_entropy_for_renamed_actions_and_nothing_for_unrelated_ones() -> None:
    actions = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    assert mutual_information(torch.tensor([7, 7, 5, 5, 0, 0, 1, 1]), actions) == pytest.approx(2)
    assert mutual_information(torch.tensor([0, 1] * 4), actions) == pytest.approx(0)
    assert entropy(actions) == pytest.approx(2)


def test_mutual_information_of_a_noisy_channel() -> None:
    """Cover and Thomas, Section 7.1.4: 1 - H(p) bits through a binary symmetric channel of uniform input."""
    codes = torch.tensor([0] * 50 + [1] * 50)
    actions = codes.clone()
    actions[:5], actions[50:55] = 1, 0
    h = -(0.1 * math.log2(0.1) + 0.9 * math.log2(0.9))
    assert mutual_information(codes, actions) == pytest.approx(1 - h)


def test_collapsed_latent_actions_are_warned_about_and_used_ones_not() -> None:
    assert "perplexity 1.02 of at most 8" in (collapse_warning(1.02, 8) or "")
    assert collapse_warning(2.9, 3) is None


def test_a_code_that_does_nothing_has_no_delta_psnr_and_a_warning(agent: GenieAgent, clips: Tensor) -> None:
    with torch.no_grad():
        agent.latent_action_model.quantizer.codebook.copy_(torch.ones(3, 4))
    found = evaluate_world_model(agent, clips, horizon=3)
    assert found.delta_psnr == 0
    assert found.latent_action_perplexity == pytest.approx(1)
    assert "collapsed" in found.warnings()[0]


def test_floor_and_ceiling_are_the_repeated_frame_and_the_tokenizers_reconstruction(
    agent: GenieAgent, clips: Tensor
) -> None:
    found = evaluate_world_model(agent, clips, prompt_frames=2, horizon=3)
    reconstructed = agent.tokenizer.decode(agent.tokenizer.encode(clips))
    for h in range(3):
        floor = psnr(clips[:, 1], clips[:, 2 + h]).mean()
        ceiling = psnr(reconstructed[:, 2 + h], clips[:, 2 + h]).mean()
        assert found.psnr_persistence[h] == pytest.approx(float(floor))
        assert found.psnr_tokenizer[h] == pytest.approx(float(ceiling))


def test_delta_psnr_compares_the_inferred_actions_with_random_ones(agent: GenieAgent, clips: Tensor) -> None:
    found = evaluate_world_model(agent, clips, horizon=4, temperature=0.0)
    codes = agent.latent_action_model.infer(clips)
    dream = agent.dream_batch(clips[:, :1], temperature=0.0)
    frames = [dream.step(codes[:, t]) for t in range(4)]
    assert found.psnr[3] == pytest.approx(float(psnr(frames[3], clips[:, 4]).mean()))
    drawn = torch.randint(3, codes.shape, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(drawn, codes)
    dream = agent.dream_batch(clips[:, :1], temperature=0.0)
    at_random = [dream.step(drawn[:, t]) for t in range(4)]
    assert found.psnr_random_actions[3] == pytest.approx(float(psnr(at_random[3], clips[:, 4]).mean()))
    values = found.metrics()
    assert values["delta_4_psnr"] == found.psnr[3] - found.psnr_random_actions[3]
    assert values["psnr_at_4"] == values["psnr"]


def test_measuring_takes_nothing_from_the_random_numbers_of_a_training(agent: GenieAgent, clips: Tensor) -> None:
    torch.manual_seed(123)
    torch.rand(1)
    before = torch.get_rng_state()
    evaluate_world_model(agent, clips, horizon=2)
    assert torch.equal(torch.get_rng_state(), before)


def test_mutual_information_is_reported_where_true_actions_are_known(agent: GenieAgent, clips: Tensor) -> None:
    codes = agent.latent_action_model.infer(clips)
    found = evaluate_world_model(agent, clips, codes, horizon=1)
    assert found.mutual_information == found.true_action_entropy == entropy(codes)
    assert "mutual_information_bits" not in evaluate_world_model(agent, clips, horizon=1).metrics()


def test_clips_too_short_for_the_horizon_are_refused(agent: GenieAgent, clips: Tensor) -> None:
    with pytest.raises(ValueError, match="clips of 5 frames hold no prompt of 2 and horizon of 4"):
        evaluate_world_model(agent, clips, prompt_frames=2, horizon=4)
    with pytest.raises(ValueError, match=r"true_actions must be \(2, 4\)"):
        evaluate_world_model(agent, clips, torch.zeros(2, 5, dtype=torch.long))
